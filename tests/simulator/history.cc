#include "tests/simulator/history.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "tests/simulator/copies.h"
#include "tests/simulator/owner.h"
#include "tests/simulator/series.h"
#include "tests/simulator/worker.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

class History {
  public:
    History(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
            std::string const& lying_file)
        : workshop_(workshop), random_(seed), fate_(mix(seed ^ kFate)), freezes_(mix(seed ^ kFreezes)),
          copies_(mix(seed ^ kCopies)), scenario_(draw_scenario(container, random_)), most_snapshots_(most_snapshots) {
        draw_lives(scenario_, fate_);
        Random order(mix(seed ^ kOrder));
        draw_order(scenario_, container, order);
        draw_freezes(scenario_, freezes_);
        Random full_disk(mix(seed ^ kFullDisk));
        draw_full_disk(scenario_, full_disk);
        Random rotations(mix(seed ^ kRotations));
        draw_rotations(scenario_, rotations);
        draw_copiers(scenario_, copies_);
        Random questions(mix(seed ^ kQuestions));
        draw_questions(scenario_.weather, questions);
        Random interim(mix(seed ^ kInterim));
        draw_interim(scenario_, interim);
        result_.ordered = scenario_.options.keys_per_group > 0;
        scenario_.weather.lying_file = lying_file;
        promises_.files = {{scenario_.path}};
        world_.emplace(workshop, random_.word(), scenario_.weather, DiskState{}, MemoryState{}, World::kBeginNs,
                       fmt::format("boot-{}", seed));
    }

    HistoryResult run() {
        live([this] { create(); });
        for (std::uint64_t i = 1; i < scenario_.lives && may_go_on(); ++i) {
            stop_all();
            live([this] { resume(); });
        }
        return std::move(result_);
    }

  private:
    static constexpr std::uint64_t kFate = 0x6c69766573;
    static constexpr std::uint64_t kOrder = 0x6f72646572;
    static constexpr std::uint64_t kFreezes = 0x667265657a65;
    static constexpr std::uint64_t kRotations = 0x726f74617465;
    static constexpr std::uint64_t kCopies = 0x636f70696573;
    static constexpr std::uint64_t kFullDisk = 0x66756c6c;
    static constexpr std::uint64_t kQuestions = 0x7175657374;
    static constexpr std::uint64_t kInterim = 0x696e746572696d;

    // Lives from the beginning to the end, or to the instant when everything stops.
    void live(std::function<void()> const& begin) {
        is_over_ = close_seen_ = false;
        thaw_ = kNever;
        handle_.clear();
        pids_.clear();
        next_kill_ = next(scenario_.turns_to_kill);
        next_snapshot_ = next(scenario_.turns_to_snapshot);
        bool const is_last = ++life_ >= scenario_.lives;
        auto const turns = fate_.any_size(2 * scenario_.turns_of_life);
        auto last_turn = !is_last && fate_.chance(0.1) ? turns : kNever; // or so long after its creation
        pids_.push_back(world_->start_process(begin));
        for (std::uint64_t i = 0; i < scenario_.workers; ++i)
            pids_.push_back(world_->start_process([this] { work(); }));
        for (std::uint64_t i = 0; i < scenario_.readers; ++i) world_->start_process([this] { read(); });
        for (std::uint64_t i = 0; i < scenario_.copiers; ++i) world_->start_process([this] { copy(); });
        world_->run([&] {
            look_around();
            if (!is_last && last_turn == kNever && !handle_.empty()) last_turn = world_->turns() + turns;
            return world_->turns() >= last_turn;
        });
        take_snapshot();
        result_.faults = world_->faults();
        result_.trace = mix(result_.trace ^ world_->trace());
        result_.turns += world_->turns();
        result_.files = promises_.files.size();
    }

    // Nothing can be promised of what a disk has forgotten without a power cut.
    bool may_go_on() const { return result_.faults.empty() && !promises_.closed && !promises_.sync_failed; }

    void stop_all() {
        auto const crash = fate_.chance(0.5) ? Crash::processes : Crash::power;
        auto const after = stopped(result_.snapshots.back(), crash, fate_);
        if (crash == Crash::power) promises_.power_was_cut();
        world_.emplace(workshop_, random_.word(), scenario_.weather, after.disk, after.memory, after.now_ns,
                       after.boot);
        most_snapshots_ += 3;
        kills_ = 0;
    }

    std::uint64_t next(std::uint64_t about) { return world_->turns() + random_.any_size(2 * about) + 1; }

    // A frozen process gets no turn until another process has died. This kills one if none ends by itself.
    void end_freeze() {
        auto const frozen = world_->frozen_process();
        if (!frozen) {
            thaw_ = kNever;
            return;
        }
        if (thaw_ == kNever) thaw_ = world_->turns() + freezes_.any_size(2000);
        if (world_->turns() < thaw_) return;
        thaw_ = kNever;
        std::vector<std::int32_t> others;
        for (auto const pid : pids_) {
            if (pid != frozen && world_->is_running(pid)) others.push_back(pid);
        }
        if (others.empty()) return world_->thaw(*frozen);
        // The creator is killed less often, as below.
        if (others.size() > 1 && others.front() == pids_[0] && !freezes_.chance(0.2)) others.erase(others.begin());
        world_->kill(others[freezes_.below(others.size())]);
    }

    void look_around() {
        end_freeze();
        if (kills_ < scenario_.kills && world_->turns() >= next_kill_) {
            ++kills_;
            next_kill_ = next(scenario_.turns_to_kill);
            // The creator is killed less often, because its death soon ends the run.
            auto const victim = random_.chance(0.2) ? 0 : random_.below(pids_.size());
            if (world_->is_running(pids_[victim])) world_->kill(pids_[victim]);
        }
        if (result_.snapshots.size() < most_snapshots_ && world_->turns() >= next_snapshot_) {
            next_snapshot_ = next(scenario_.turns_to_snapshot);
            take_snapshot();
        }
        // Rotations and closes are short, and most failures are possible there.
        if (promises_.files.size() > files_seen_) {
            files_seen_ = promises_.files.size();
            if (files_seen_ > 1) ++most_snapshots_;
            if (files_seen_ > 1) next_snapshot_ = world_->turns() + random_.any_size(400);
        }
        if (promises_.close_begun && !close_seen_) {
            close_seen_ = true;
            next_snapshot_ = world_->turns() + random_.below(200);
            most_snapshots_ += 2;
        }
    }

    void take_snapshot() {
        if (world_->syncs > scenario_.weather.fail_sync) promises_.sync_failed = true;
        result_.snapshots.push_back(
            {world_->disk, world_->names.state(), promises_, world_->now_ns(), world_->boot(), life_});
    }

    void create() {
        promises_.creation_begun = true;
        std::unique_ptr<dataset::Writer> writer;
        try {
            writer = dataset::Writer::create(scenario_.path, scenario_.schema, scenario_.options);
        } catch (base::Error const& error) {
            world_->note(1);
            is_over_ = true;
            return;
        }
        promises_.created = promises_.files.front().created = true;
        auto owner = this->owner();
        own(owner, std::move(writer));
    }

    // Goes on until all other processes have ended.
    void own(Owner& owner, std::unique_ptr<dataset::Writer> writer) {
        owner.own(std::move(writer), [this] {
            return std::any_of(pids_.begin() + 1, pids_.end(), [&](auto pid) { return world_->is_running(pid); });
        });
        is_over_ = true;
    }

    Owner owner() { return {*world_, scenario_, random_, promises_, handle_}; }

    // Everything that was promised in earlier lives must be there, and is promised again.
    void resume() {
        auto const blame = [&](std::string const& text) { world_->blame("when it was resumed: " + text); };
        auto const now = base::monotonic_ns(); // everything that is there was appended before
        auto owner = this->owner();
        auto writer = owner.resume(blame);
        if (!writer) {
            is_over_ = true;
            return;
        }
        ++result_.resumed;
        promises_.created = true;
        try {
            auto files = read_files(blame);
            check_complete_files(promises_.files, files, blame);
            for (std::size_t i = 0; i + 1 < files.size(); ++i) { // it was completed for the resumption
                promises_.files[i].closed = true;
                promises_.files[i].content = files[i];
            }
            auto const found = together(std::move(files));
            check_promises(promises_, found, Crash::processes, blame);
            check_keys(*writer, found, blame);
            promises_.was_resumed(found, now);
            next_snapshot_ = world_->turns() + random_.below(100); // before the first flush, too
            ++most_snapshots_;
        } catch (base::Error const& error) {
            bool const is_of_disk = dynamic_cast<base::SystemError const*>(&error) != nullptr;
            if (!is_of_disk || !world_->disk_may_have_failed())
                blame(fmt::format("it cannot be read: {}", error.what()));
        }
        own(owner, std::move(writer));
    }

    std::vector<Found> read_files(Blame const& blame) {
        std::vector<Found> found;
        World::Answering const answering(*world_);
        for (auto const& file : promises_.files) {
            auto const reader = dataset::Reader::open(file.path);
            World::Undivided const undivided(*world_);
            found.push_back(read_all(*reader, blame));
        }
        return found;
    }

    // Checks what the run reports of keys, so that their work is not repeated.
    void check_keys(dataset::Writer const& writer, Found const& found, Blame const& blame) const {
        for (std::uint64_t i = 0; i < scenario_.keys; ++i) {
            auto const number = scenario_.first_key() + static_cast<std::int64_t>(i);
            bool const is_there = std::binary_search(found.units.begin(), found.units.end(), number);
            if (writer.is_committed(number) != is_there)
                blame(fmt::format("unit {} is {}, and it says the contrary", number, is_there ? "there" : "not there"));
        }
    }

    void work() {
        while (handle_.empty()) {
            if (is_over_ || !world_->is_running(pids_[0])) return;
            base::sleep_ns(200'000);
        }
        Worker(*world_, scenario_, random_, promises_).work(handle_);
    }

    void copy() {
        World::Answering const answering(*world_);
        result_.copies += recover_a_copy_of_open_run(*world_, scenario_.path, promises_, copies_);
    }

    void read() {
        for (int i = 0; i < 3; ++i) {
            base::sleep_ns(random_.any_size(40'000'000));
            if (!promises_.created || promises_.close_begun) continue;
            auto const before = promises_;
            auto number = before.files.size() - 1;
            while (number > 0 && !before.files[number].created) --number;
            auto const path = before.files[number].path;
            auto blame = [&](std::string const& text) { world_->blame("a reader of the open run: " + text); };
            World::Answering const answering(*world_);
            try {
                auto const reader = dataset::Reader::open(path);
                // The threads of real readers do not share the memory for decoding.
                World::Undivided const undivided(*world_);
                auto const found = read_all(*reader, blame);
                if (promises_.files.size() == 1)
                    check_promises(expected_by_reader(before), found, Crash::processes, blame);
                else
                    check_one_file(promises_, found, blame);
            } catch (base::Error const& error) {
                bool const is_open = number < promises_.files.size() && !promises_.files[number].close_begun;
                if (is_open && !promises_.close_begun && world_->is_running(pids_[0])) blame(error.what());
            }
        }
    }

    // Rows that were durable before must be there, and rows that were begun meanwhile may be.
    Promises expected_by_reader(Promises const& before) const {
        auto expected = promises_;
        for (auto& [who, promise] : expected.producers) {
            auto const found_before = before.producers.find(who);
            promise.durable = found_before == before.producers.end() ? 0 : found_before->second.durable;
            promise.taken = promise.durable;
        }
        for (auto& [who, unit] : expected.units) {
            auto const unit_before = before.units.find(who);
            bool const durable = unit_before != before.units.end() && unit_before->second.durable;
            if (unit.state == UnitPromise::State::committed && !durable) unit.state = UnitPromise::State::committing;
        }
        expected.closed = false;
        return expected;
    }

    Workshop& workshop_;
    Random random_;
    Random fate_;    // for when everything stops, and what that leaves
    Random freezes_; // for which process is killed then
    Random copies_;  // for when copies are made
    Scenario scenario_;
    std::size_t most_snapshots_;
    std::optional<World> world_;
    std::uint64_t life_ = 0;
    std::vector<std::int32_t> pids_; // the creator is the first
    Promises promises_;
    std::string handle_;
    std::size_t files_seen_ = 0;
    std::uint64_t kills_ = 0, next_kill_ = 0, next_snapshot_ = 0, thaw_ = kNever;
    bool is_over_ = false, close_seen_ = false;
    HistoryResult result_;
};

} // namespace

Snapshot stopped(Snapshot const& snapshot, Crash crash, Random& random) {
    Snapshot after;
    after.promises = snapshot.promises;
    after.now_ns = snapshot.now_ns + 1'000'000'000;
    after.boot = snapshot.boot;
    if (crash == Crash::processes) {
        after.disk = after_death(snapshot.disk, after.now_ns, random);
        after.memory = snapshot.memory;
        return after;
    }
    auto const survival = draw_survival(random);
    after.disk = after_power_cut(snapshot.disk, survival, random);
    after.boot += "'";
    return after;
}

HistoryResult run_history(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
                          std::string const& lying_file) {
    return History(workshop, container, seed, most_snapshots, lying_file).run();
}

} // namespace thalweg::simulator
