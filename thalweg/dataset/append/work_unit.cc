#include "thalweg/dataset/append/work_unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::dataset {
// Workers without an open unit, and the threads that have one.
struct WorkUnit::Idle {
    struct Open {
        UnitWorker const* worker;
        std::thread::id thread; // that began it
    };
    base::Mutex mutex;
    std::vector<std::unique_ptr<UnitWorker>> workers THALWEG_GUARDED_BY(mutex);
    std::vector<Open> open THALWEG_GUARDED_BY(mutex);
    std::shared_ptr<OpenRun> run THALWEG_GUARDED_BY(mutex); // the file of the unit that ended last
};

WorkUnit::~WorkUnit() {
    try {
        drop();
    } catch (std::exception const&) {
        // The run is over, or cannot go on: the rows do not count all the same, since the key was not taken for them.
    }
}

void WorkUnit::check_open() const {
    if (worker_) return;
    base::fail_usage(
        {fmt::format("work unit {} has ended", key_.str()), "it was committed or dropped", "begin another one"});
}

std::unique_ptr<UnitWorker> WorkUnit::take_worker() {
    base::Lock const lock(idle_->mutex);
    auto const ended = std::erase_if(idle_->open, [&](Idle::Open const& each) { return each.worker == worker_.get(); });
    THALWEG_ASSERT(ended == 1, "a unit that ends was begun, and ends once");
    return std::move(worker_);
}

// After an error it is not given back: its producers end with it, and their open rows do not count.
void WorkUnit::give_back(std::unique_ptr<UnitWorker> worker) {
    auto const idle = std::exchange(idle_, nullptr);
    base::Lock const lock(idle->mutex);
    if (idle->run != worker->run()) idle->run = worker->run(); // it has followed into the next file
    idle->workers.push_back(std::move(worker));
}

Producer& WorkUnit::operator[](std::string const& table) {
    check_open();
    return worker_->producer(table);
}

void WorkUnit::next_key(std::int64_t key, std::string summary) {
    check_open();
    worker_->next_key(key, std::move(summary));
}

void WorkUnit::set_summary(std::string summary) {
    check_open();
    worker_->set_summary(std::move(summary));
}

bool WorkUnit::commit() {
    check_open();
    auto worker = take_worker();
    auto const committed = worker->commit();
    give_back(std::move(worker));
    return committed;
}

void WorkUnit::drop() {
    if (!worker_) return;
    auto worker = take_worker();
    worker->drop();
    give_back(std::move(worker));
}

WorkUnits::WorkUnits(std::shared_ptr<OpenRun> run)
    : idle_(std::make_shared<WorkUnit::Idle>()), path_(run->path()), keys_per_group_(run->head.keys_per_group) {
    base::Lock const lock(idle_->mutex);
    idle_->run = std::move(run);
}

WorkUnit WorkUnits::begin(UnitKey const& key, std::string summary) {
    if (keys_per_group() == 0) return begin_any(key, std::move(summary));
    if (!key.is_integer) {
        base::fail_usage({fmt::format("{}: no work unit can have the key {}", path_, key.str()),
                          "the run is ordered by key", "give an integer"});
    }
    if (keys_per_group() > 1) {
        base::fail_usage({fmt::format("{}: work unit {} cannot be begun alone", path_, key.str()),
                          fmt::format("units are committed in groups of {} keys", keys_per_group()),
                          "begin its group, and the unit in that"});
    }
    auto unit = begin_group(key.integer);
    unit.next_key(key.integer, std::move(summary));
    return unit;
}

WorkUnit WorkUnits::begin_group(std::int64_t number) {
    if (keys_per_group() == 0) base::fail_usage({path_ + " has no groups of work units", "it is not ordered by key"});
    return begin_any(number, {});
}

WorkUnit WorkUnits::begin_any(UnitKey const& key, std::string summary) {
    std::unique_ptr<UnitWorker> worker;
    {
        base::Lock const lock(idle_->mutex);
        if (idle_->workers.empty()) {
            worker = std::make_unique<UnitWorker>(idle_->run);
        } else {
            worker = std::move(idle_->workers.back());
            idle_->workers.pop_back();
        }
    }
    worker->begin(key, std::move(summary));
    base::Lock const lock(idle_->mutex);
    idle_->open.push_back({worker.get(), std::this_thread::get_id()});
    return {idle_, std::move(worker), key};
}

void WorkUnits::check_none_of_this_thread() const {
    base::Lock const lock(idle_->mutex);
    for (auto const& each : idle_->open) {
        if (each.thread != std::this_thread::get_id()) continue;
        base::fail_usage({path_ + " cannot be closed yet", each.worker->name() + " is open, and this thread began it",
                          "commit or drop it, and close again"});
    }
}

std::shared_ptr<OpenRun> WorkUnits::open_file() const {
    base::Lock const lock(idle_->mutex);
    auto& run = idle_->run;
    while (true) {
        auto const& head = run->ledger->head();
        try {
            run->ledger->check_alive();
            return run;
        } catch (base::Error const&) { // only behind that it is known whether it was closed because the run goes on
            if (head.state != LedgerState::closed || head.has_next == 0) throw;
        }
        run = attach_next(*run);
    }
}

bool WorkUnits::is_committed(UnitKey const& key) const {
    auto const run = open_file();
    auto const* const units = run->ledger->units_if_any();
    auto const per_group = run->head.keys_per_group;
    if (units == nullptr || per_group == 0) return units != nullptr && units->find(key);
    auto const group = key.is_integer ? units->find(group_of(key.integer, per_group)) : std::nullopt;
    if (!group) return false;
    auto const list = decode_group(units->summary(*group), run->head.schema.tables.size());
    return std::ranges::any_of(list, [&](UnitOfGroup const& unit) { return unit.key == key.integer; });
}

bool WorkUnits::is_group_committed(std::int64_t number) const {
    auto const run = open_file();
    auto const* const units = run->ledger->units_if_any();
    return units != nullptr && units->find(number);
}

bool WorkUnits::take(UnitKey const& key) const {
    auto const run = open_file();
    return !run->keys || run->keys->take(key);
}

std::vector<UnitKey> WorkUnits::committed_keys() const {
    auto const run = open_file();
    auto const* const units = run->ledger->units_if_any();
    if (units == nullptr) return {};
    auto taken = units->all_keys();
    if (run->head.keys_per_group == 0) return taken;
    std::vector<UnitKey> keys;
    for (auto const& group : taken) {
        for (auto const& unit : decode_group(units->summary(*units->find(group)), run->head.schema.tables.size()))
            keys.emplace_back(unit.key);
    }
    return keys;
}

void WorkUnits::abandon() {
    base::Lock const lock(idle_->mutex);
    idle_->workers.clear();
}

void WorkUnits::abandon(std::string_view reason) {
    base::Lock const lock(idle_->mutex);
    for (auto& worker : idle_->workers) worker->abandon(reason);
    idle_->workers.clear();
}

void WorkUnits::finish() {
    base::Lock const lock(idle_->mutex);
    std::exception_ptr error;
    for (auto& worker : idle_->workers) {
        try {
            worker->finish();
        } catch (base::Error const&) {
            if (!error) error = std::current_exception();
        }
    }
    idle_->workers.clear();
    if (error) std::rethrow_exception(error);
}

} // namespace thalweg::dataset
