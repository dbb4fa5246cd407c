#include "tests/simulator/judge.h"

#include <fmt/format.h>
#include <optional>

#include "tests/simulator/copies.h"
#include "tests/simulator/series.h"
#include "tests/simulator/shown.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/format_for.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kCopies = 0x636f70696573, kQuestions = 0x7175657374;
constexpr double kShareOfCopies = 0.2;
constexpr char const* kMoved = "moved-"; // in front of a name

class Judge {
  public:
    Judge(Workshop& workshop, std::string const& path, std::uint64_t seed, Verdict& verdict)
        : workshop_(workshop), path_(path), random_(seed), copies_(mix(seed ^ kCopies)),
          questions_(mix(seed ^ kQuestions)), verdict_(verdict) {}

    void judge_state(std::span<Snapshot const> snapshots, std::size_t index) {
        auto const& snapshot = snapshots[index];
        auto const crash = random_.chance(0.5) ? Crash::processes : Crash::power;
        name_ = crash == Crash::power ? "after a power cut" : "after the death of all";
        for (auto const& [who, promise] : snapshot.promises.producers) {
            verdict_.rows += promise.taken;
            verdict_.promised_rows +=
                crash == Crash::processes || snapshot.promises.closed ? promise.taken : promise.durable;
        }
        auto state = stopped(snapshot, crash, random_);
        if (copies_.chance(kShareOfCopies) && snapshot.promises.files.size() == 1 &&
            judge_a_copy(workshop_, path_, snapshots, index, state, crash, copies_, verdict_.faults)) {
            ++verdict_.copies;
            if (!verdict_.faults.empty()) return;
            name_ += ", with a copy that was recovered";
        }
        if (random_.chance(0.15)) move(state.disk);
        if (questions_.chance(0.2)) no_answer_chance_ = questions_.one_of({0.02, 0.2, 0.7});
        recover(state, crash, true);
    }

  private:
    // Moves file, journal and segments to another name before anything else.
    void move(DiskState& disk) {
        for (auto* const names : {&disk.names, &disk.durable_names}) {
            std::map<std::string, std::uint64_t> after;
            for (auto const& [path, inode] : *names) after[moved(path)] = inode;
            *names = std::move(after);
        }
        for (auto& change : disk.name_changes) change.path = moved(change.path);
        is_moved_ = true;
        name_ += ", moved";
    }

    static std::string moved(std::string const& path) {
        auto const name = path.rfind('/') + 1;
        return path.substr(0, name) + kMoved + path.substr(name);
    }

    std::string path_now(std::string const& path) const { return is_moved_ ? moved(path) : path; }

    // `first` means that no other recovery was tried before.
    std::optional<Found> recover(Snapshot const& state, Crash crash, bool first) {
        ++verdict_.states;
        std::optional<Found> found;
        std::vector<Snapshot> stops; // the instants at which this recovery is stopped, too
        Snapshot after;
        {
            World world(workshop_, random_.word(), calm(random_), state.disk, state.memory, state.now_ns, state.boot);
            auto const blame = [&](std::string const& text) { world.blame(fmt::format("{}: {}", name_, text)); };
            world.start_process([&] { try_to_recover(world, state, crash, first, found, blame); });
            auto stop = first && random_.chance(0.3) ? random_.any_size(400) : kNever;
            world.run([&] {
                if (world.turns() < stop) return false;
                stop = kNever;
                stops.push_back({world.disk, world.names.state(), state.promises, world.now_ns(), state.boot});
                return false;
            });
            after = {world.disk, {}, state.promises, world.now_ns(), state.boot};
            verdict_.faults.insert(verdict_.faults.end(), world.faults().begin(), world.faults().end());
        }
        if (!verdict_.faults.empty() || !found) return found;
        for (auto const& stop : stops) try_again(stop, crash, *found);
        if (first && random_.chance(0.2) && !state.promises.sync_failed) survive_power_cut(after, *found);
        return found;
    }

    void try_to_recover(World& world, Snapshot const& state, Crash crash, bool first, std::optional<Found>& found,
                        Blame const& blame) {
        auto const& promises = state.promises;
        std::vector<std::string> notes;
        std::vector<Found> files;
        for (auto const& file : promises.files) {
            auto const blame_file = [&](std::string const& text) { blame(fmt::format("{}: {}", file.path, text)); };
            if (first) judge_as_complete(world, state, file, crash, blame_file);
            auto const shown = first ? shown_to_others(world, path_now(file.path), blame_file) : std::nullopt;
            auto one = recover_file(world, promises, file, notes, blame_file);
            if (shown && one) {
                ++verdict_.shown;
                check_nothing_goes(*shown, *one, blame_file);
            }
            if (one) files.push_back(std::move(*one));
            if (!one && file.created) return;
        }
        if (files.empty()) return;
        check_complete_files(promises.files, files, blame);
        found = together(std::move(files));
        check_promises(promises, *found, crash, blame);
        if (world.faults().empty()) return;
        for (auto const& note : notes) blame("recover said: " + note);
        blame(describe(state));
    }

    // Judges the file as other programs see it, which do not look at the journal.
    void judge_as_complete(World& world, Snapshot const& state, FilePromise const& file, Crash crash,
                           Blame const& blame) const {
        auto const path = path_now(file.path);
        if (!opens_as_complete(path)) return;
        if (!file.close_begun && !state.promises.close_begun)
            blame("a run that was not closed opens as a complete file");
        try {
            auto const content = read_all(world, path, blame);
            auto all = state.promises;
            all.closed = true; // only a close that was told everything can have done that
            if (all.files.size() == 1) check_promises(all, content, crash, blame);
        } catch (base::Error const& error) {
            blame(fmt::format("a file that opens as complete cannot be read: {}", error.what()));
        }
    }

    // Returns nothing if the file is not there; that is a fault if it must be there.
    std::optional<Found> recover_file(World& world, Promises const& promises, FilePromise const& file,
                                      std::vector<std::string>& notes, Blame const& blame) const {
        auto const path = path_now(file.path);
        recover_without_answers(world, path);
        try {
            auto const recovered = dataset::recover(path);
            notes.insert(notes.end(), recovered.report.notes.begin(), recovered.report.notes.end());
        } catch (base::Error const& error) {
            bool const there = opens_as_complete(path);
            if (!there && file.created && promises.created)
                blame(fmt::format("it cannot be recovered: {}", error.what()));
            if (!there) return std::nullopt;
        }
        try {
            return read_all(world, path, blame);
        } catch (base::Error const& error) {
            if (file.created && promises.created)
                blame(fmt::format("what was recovered cannot be read: {}", error.what()));
            return std::nullopt;
        }
    }

    // Recovers where the machine may have no answer: whatever that says, nothing may be lost by it.
    void recover_without_answers(World& world, std::string const& path) const {
        world.weather.no_answer_chance = no_answer_chance_;
        for (int i = 0; i < 2 && no_answer_chance_ > 0; ++i) {
            try {
                dataset::recover(path);
            } catch (base::Error const&) {
            }
        }
        world.weather.no_answer_chance = 0;
    }

    static std::string describe(Snapshot const& state) {
        std::string text = fmt::format("at {} ns there were", state.now_ns);
        for (auto const& [path, inode] : state.disk.names)
            text += fmt::format(" {} ({} B)", path, state.disk.files.at(inode).cache.size());
        for (auto const& [name, bytes] : state.memory) text += fmt::format(" {} ({} B)", name, bytes.size());
        for (auto const& [who, promise] : state.promises.producers)
            text += fmt::format("; producer {}: {} begun, {} taken, {} durable", who, promise.begun, promise.taken,
                                promise.durable);
        for (auto const& [who, unit] : state.promises.units)
            text += fmt::format("; unit {} (try {}): state {}", unit.key, who, static_cast<int>(unit.state));
        return text;
    }

    static Found read_all(World& world, std::string const& path, Blame const& blame) {
        auto const reader = dataset::Reader::open(path);
        World::Undivided const undivided(world);
        return simulator::read_all(*reader, blame);
    }

    // The recovery was killed: the next one must find the same. After a power cut it must find at least what is
    // durable.
    void try_again(Snapshot const& stop, Crash crash, Found const& expected) {
        bool const power = random_.chance(0.3) && !stop.promises.sync_failed;
        auto const name = name_;
        name_ += power ? ", then a power cut in the recovery" : ", then the death of the recovery";
        auto const again = recover(stopped(stop, power ? Crash::power : Crash::processes, random_),
                                   power ? Crash::power : crash, false);
        if (!power && verdict_.faults.empty() && again != expected)
            verdict_.faults.push_back(name_ + ": the second recovery found other rows than the first");
        name_ = name;
    }

    // A finished recovery is final: what it has reported must stay.
    void survive_power_cut(Snapshot const& after, Found const& expected) {
        auto const name = name_;
        name_ += ", then a power cut behind the recovery";
        auto const again = recover(stopped(after, Crash::power, random_), Crash::power, false);
        if (verdict_.faults.empty() && again != expected)
            verdict_.faults.push_back(name_ + ": rows are lost that the recovery had found");
        name_ = name;
    }

    Workshop& workshop_;
    std::string path_;
    Random random_;
    double no_answer_chance_ = 0;
    Random copies_, questions_; // of their own, so that copies do not change what a seed does to an original
    Verdict& verdict_;
    bool is_moved_ = false;
    std::string name_;
};

} // namespace

Weather calm(Random& random) {
    Weather weather;
    weather.steps_per_turn = random.one_of({50u, 500u});
    weather.longest_sync_ns = 1'000'000;
    return weather;
}

bool opens_as_complete(std::string const& path) {
    try {
        if (!dataset::exists(path)) return false;
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
        return dataset::format_for(path).load(*file).closed;
    } catch (base::Error const&) {
        return false;
    }
}

Verdict judge(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
              std::uint64_t seed, std::uint64_t states) {
    Verdict verdict;
    for (std::uint64_t i = 0; i < states && verdict.faults.empty(); ++i)
        Judge(workshop, path, mix(seed + i), verdict).judge_state(snapshots, index);
    return verdict;
}

} // namespace thalweg::simulator
