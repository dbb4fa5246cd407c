#include "tests/simulator/history.h"

#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kBeginNs = 1'000'000'000'000;
constexpr std::uint64_t kCloseTimeoutNs = 5'000'000'000;

class History {
  public:
    History(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
            std::string const& lying_file)
        : random_(seed), scenario_(draw_scenario(container, random_)), most_snapshots_(most_snapshots),
          world_(workshop, random_.word(), weather(lying_file), {}, {}, kBeginNs, fmt::format("boot-{}", seed)) {
        next_kill_ = next(scenario_.turns_to_kill);
        next_snapshot_ = next(scenario_.turns_to_snapshot);
    }

    HistoryResult run() {
        pids_.push_back(world_.start_process([this] { create(); }));
        for (std::uint64_t i = 0; i < scenario_.workers; ++i) pids_.push_back(world_.start_process([this] { work(); }));
        for (std::uint64_t i = 0; i < scenario_.readers; ++i) world_.start_process([this] { read(); });
        world_.run([this] {
            look_around();
            return false;
        });
        take_snapshot();
        result_.faults = world_.faults();
        result_.trace = world_.trace();
        result_.turns = world_.turns();
        return std::move(result_);
    }

  private:
    Weather weather(std::string const& lying_file) const {
        auto weather = scenario_.weather;
        weather.lying_file = lying_file;
        return weather;
    }
    std::uint64_t next(std::uint64_t about) { return world_.turns() + random_.any_size(2 * about) + 1; }

    void look_around() {
        if (kills_ < scenario_.kills && world_.turns() >= next_kill_) {
            ++kills_;
            next_kill_ = next(scenario_.turns_to_kill);
            // Its creator less often: then the run is soon over.
            auto const victim = random_.chance(0.2) ? 0 : random_.below(pids_.size());
            if (world_.is_running(pids_[victim])) world_.kill(pids_[victim]);
        }
        if (result_.snapshots.size() < most_snapshots_ && world_.turns() >= next_snapshot_) {
            next_snapshot_ = next(scenario_.turns_to_snapshot);
            take_snapshot();
        }
        // A close is short, and most can go wrong there.
        if (promises_.close_begun && !close_seen_) {
            close_seen_ = true;
            next_snapshot_ = world_.turns() + random_.below(200);
            most_snapshots_ += 2;
        }
    }

    void take_snapshot() {
        auto const lost = world_.syncs > scenario_.weather.fail_sync;
        promises_.sync_failed = lost;
        result_.snapshots.push_back({world_.disk, world_.names.state(), promises_, world_.now_ns(), world_.boot_id()});
    }

    void create() {
        promises_.creation_begun = true;
        std::unique_ptr<dataset::Writer> writer;
        try {
            writer = dataset::Writer::create(scenario_.path, scenario_.schema, scenario_.options);
        } catch (base::Error const& error) {
            world_.note(1);
            is_over_ = true;
            return;
        }
        promises_.created = true;
        handle_ = writer->handle();
        watch(*writer);
        if (scenario_.end == Scenario::End::close) close(*writer);
        if (scenario_.end == Scenario::End::abandon) writer->abandon();
        is_over_ = true;
    }

    // Until nobody of the others is there any more.
    void watch(dataset::Writer& writer) {
        auto const is_there = [&] {
            for (std::size_t i = 1; i < pids_.size(); ++i) {
                if (world_.is_running(pids_[i])) return true;
            }
            return false;
        };
        while (is_there()) {
            ask(writer);
            base::sleep_ns(random_.any_size(20'000'000));
        }
    }

    void ask(dataset::Writer const& writer) {
        auto const asked_ns = base::monotonic_ns();
        auto const status = writer.status();
        promises_.status_said(asked_ns, status.durable_lag_ns);
        promises_.status_said_of_units(asked_ns, status.units_not_durable == 0 ? 0 : status.units_oldest_age_ns);
    }

    void close(dataset::Writer& writer) {
        promises_.close_begun = true;
        for (int i = 0; i < 3 && !promises_.closed; ++i) {
            try {
                writer.close(kCloseTimeoutNs);
                promises_.closed = true;
            } catch (base::Error const& error) {
                world_.note(2);
            }
        }
    }

    void work() {
        while (handle_.empty()) {
            if (is_over_ || !world_.is_running(pids_[0])) return;
            base::sleep_ns(200'000);
        }
        try {
            auto const run = dataset::attach(handle_, scenario_.options.write.seal_threads);
            if (random_.chance(scenario_.share_of_units)) return work_in_units(run);
            auto const producers = random_.between(1, 3);
            for (std::uint64_t i = 0; i < producers; ++i) produce(run);
        } catch (base::Error const& error) {
            world_.note(3);
        }
    }

    void work_in_units(std::shared_ptr<dataset::OpenRun> const& run) {
        dataset::WorkUnits units(run);
        for (std::uint64_t i = 0; i < scenario_.appends; ++i) {
            auto const key = static_cast<std::int64_t>(random_.below(scenario_.keys));
            auto const who = next_who_++;
            promises_.units[who].key = key;
            auto unit = units.begin(key, std::string(random_.below(100), 's'));
            for (auto pieces = random_.between(1, 3); pieces > 0; --pieces) append_to(unit, who);
            if (random_.chance(0.3)) base::sleep_ns(random_.any_size(10'000'000));
            end(unit, who);
        }
        units.finish();
    }

    void append_to(dataset::WorkUnit& unit, std::uint64_t who) {
        auto const table = random_.below(scenario_.schema.tables.size());
        auto& rows = promises_.units[who].rows[table];
        auto const count = random_.between(1, scenario_.rows);
        auto& producer = unit[scenario_.schema.tables[table].name];
        Rows const data(producer.columns(), table, who, rows, count);
        rows += count;
        producer.append(count, data.spans());
    }

    void end(dataset::WorkUnit& unit, std::uint64_t who) {
        using State = UnitPromise::State;
        auto& promise = promises_.units[who];
        if (random_.chance(0.2)) {
            unit.drop();
            promise.state = State::dropped;
            return;
        }
        promise.state = State::committing;
        promise.state = unit.commit() ? State::committed : State::dropped;
        promise.committed_ns = base::monotonic_ns();
    }

    void produce(std::shared_ptr<dataset::OpenRun> const& run) {
        auto const table = random_.below(scenario_.schema.tables.size());
        dataset::Producer producer(run, table);
        auto const who = next_who_++;
        promises_.producers[who].table = table;
        auto const appends = random_.below(scenario_.appends + 1);
        for (std::uint64_t i = 0; i < appends; ++i) {
            auto const rows = random_.between(1, scenario_.rows);
            append(producer, table, who, rows);
            if (random_.chance(0.5)) base::sleep_ns(random_.any_size(10'000'000));
        }
        if (random_.chance(0.8)) producer.finish();
    }

    void append(dataset::Producer& producer, std::uint64_t table, std::uint64_t who, std::uint64_t rows) {
        auto const first = promises_.producers[who].begun;
        Rows const data(producer.columns(), table, who, first, rows);
        promises_.append_begins(who, rows);
        producer.append(rows, data.spans());
        promises_.append_returned(who, rows, base::monotonic_ns());
    }

    void read() {
        for (int i = 0; i < 3; ++i) {
            base::sleep_ns(random_.any_size(40'000'000));
            if (!promises_.created || promises_.close_begun) continue;
            auto const before = promises_;
            auto blame = [&](std::string const& text) { world_.blame("a reader of the open run: " + text); };
            try {
                auto const reader = dataset::Reader::open(scenario_.path);
                World::Undivided const undivided(world_); // the threads of real readers do not share what it decodes in
                auto const found = read_all(*reader, blame);
                auto expected = promises_; // what was begun meanwhile may be there
                for (auto& [who, promise] : expected.producers) {
                    auto const found_before = before.producers.find(who);
                    promise.durable = found_before == before.producers.end() ? 0 : found_before->second.durable;
                    promise.taken = promise.durable;
                }
                for (auto& [who, unit] : expected.units) {
                    auto const unit_before = before.units.find(who);
                    bool const durable = unit_before != before.units.end() && unit_before->second.durable;
                    if (unit.state == UnitPromise::State::committed && !durable)
                        unit.state = UnitPromise::State::committing; // it may be there
                }
                expected.closed = false;
                check_promises(expected, found, Crash::processes, blame);
            } catch (base::Error const& error) {
                if (!promises_.close_begun && world_.is_running(pids_[0])) blame(error.what());
            }
        }
    }

    Random random_;
    Scenario scenario_;
    std::size_t most_snapshots_;
    World world_;
    std::vector<std::int32_t> pids_; // the creator is the first
    Promises promises_;
    std::string handle_;
    std::uint64_t next_who_ = 0;
    std::uint64_t kills_ = 0, next_kill_ = 0, next_snapshot_ = 0;
    bool is_over_ = false, close_seen_ = false;
    HistoryResult result_;
};

} // namespace

HistoryResult run_history(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
                          std::string const& lying_file) {
    return History(workshop, container, seed, most_snapshots, lying_file).run();
}

} // namespace thalweg::simulator
