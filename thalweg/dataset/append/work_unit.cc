#include "thalweg/dataset/append/work_unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::dataset {
namespace {

void check(OpenRun const& run, UnitKey const& key, std::string const& summary) {
    if (!key.is_integer && (key.text.empty() || key.text.size() > kLongestKeyBytes)) {
        base::fail_usage({fmt::format("{}: no work unit can have the key {}", run.path(), key.str()),
                          fmt::format("it has {} bytes, and a key has 1 to {}", key.text.size(), kLongestKeyBytes),
                          "give an integer, or shorter text"});
    }
    if (summary.size() > kLongestSummaryBytes) {
        base::fail_usage({fmt::format("{}: the summary of work unit {} is too long", run.path(), key.str()),
                          fmt::format("it has {} bytes, and {} are the most", summary.size(), kLongestSummaryBytes),
                          "put what is long into a table"});
    }
}

} // namespace

void UnitWorker::begin(UnitKey const& key, std::string summary) {
    check(*run_, key, summary);
    follow_rotation();
    key_ = key;
    summary_ = std::move(summary);
    begun_.clear();
    group_.clear();
    group_rows_.assign(run_->head.schema.tables.size(), 0);
    if (auto const* const units = run_->ledger->units_if_any()) units->prefetch(key);
}

std::string UnitWorker::name() const {
    return is_ordered() ? name_of_group(key_.integer, run_->head.keys_per_group) : "work unit " + key_.str();
}

// The worker with all its producers, and none of these alone: key and rows of a unit are in one file.
void UnitWorker::follow_rotation() {
    while (run_->ledger->head().has_next.load(std::memory_order_acquire) != 0) {
        std::string const next = run_->ledger->head().next_ledger;
        finish();
        run_ = attach(next, run_->options.seal_threads);
    }
}

Producer& UnitWorker::producer(std::string const& table) {
    auto const index = run_->head.schema.table_index(table);
    if (is_ordered() && group_.empty()) {
        base::fail_usage({fmt::format("{}: rows of {} were given", run_->path(),
                                      name_of_group(key_.integer, run_->head.keys_per_group)),
                          "it is not known of which unit they are", "begin a unit of the group first"});
    }
    return producer(index);
}

void UnitWorker::next_key(std::int64_t key, std::string summary) {
    auto const per_group = run_->head.keys_per_group;
    if (per_group == 0)
        base::fail_usage({fmt::format("{}: work unit {} has no units in it", run_->path(), key_.str()),
                          "the run is not ordered by key"});
    auto const name = name_of_group(key_.integer, per_group);
    if (group_of(key, per_group) != key_.integer)
        base::fail_usage({fmt::format("{}: work unit {} is not of {}", run_->path(), key, name)});
    if (!group_.empty() && key <= group_.back().key) {
        base::fail_usage(
            {fmt::format("{}: work unit {} cannot follow {} in {}", run_->path(), key, group_.back().key, name),
             "the keys of a group ascend"});
    }
    check(*run_, key, summary);
    end_key();
    group_.push_back({key, std::move(summary), {}});
}

void UnitWorker::set_summary(std::string summary) {
    check(*run_, key_, summary);
    if (!is_ordered()) {
        summary_ = std::move(summary);
    } else if (!group_.empty()) {
        group_.back().summary = std::move(summary);
    } else {
        base::fail_usage(
            {fmt::format("{}: {} has no summary", run_->path(), name_of_group(key_.integer, run_->head.keys_per_group)),
             "its units have", "begin a unit of the group first"});
    }
}

void UnitWorker::end_key() {
    if (group_.empty()) return;
    auto& rows = group_.back().rows;
    rows.assign(group_rows_.size(), 0);
    for (std::size_t table = 0; table < producers_.size(); ++table) {
        if (!producers_[table]) continue;
        rows[table] = producers_[table]->unit_rows() - group_rows_[table];
        group_rows_[table] += rows[table];
    }
}

// Before the key is taken: a worker that dies behind that leaves nothing that somebody else would cut into pages.
void UnitWorker::seal_group() {
    end_key();
    summary_ = encode_group(group_);
    if (summary_.size() > kLongestGroupBytes) {
        base::fail_usage({fmt::format("{}: {} has too many units with too long summaries", run_->path(),
                                      name_of_group(key_.integer, run_->head.keys_per_group)),
                          fmt::format("they take {} bytes, and {} are the most", summary_.size(), kLongestGroupBytes),
                          "create the run with fewer keys in a group, or put what is long into a table"});
    }
    for (auto* producer : begun_) producer->seal_unit();
}

Producer& UnitWorker::producer(std::size_t table) {
    if (begun_.empty()) follow_rotation(); // as long as it has begun in no file
    if (producers_.empty()) producers_.resize(run_->head.schema.tables.size());
    while (!producers_[table]) {
        try {
            producers_[table] = std::make_unique<Producer>(run_, table, true);
            producers_[table]->set_while_waiting(while_waiting_);
        } catch (base::Error const&) { // all others have gone on since we looked, and the file is closed
            if (!begun_.empty() || run_->ledger->head().has_next.load(std::memory_order_acquire) == 0) throw;
            follow_rotation();
            producers_.resize(run_->head.schema.tables.size());
        }
    }
    auto& producer = producers_[table];
    if (std::find(begun_.begin(), begun_.end(), producer.get()) == begun_.end()) {
        producer->begin_unit();
        begun_.push_back(producer.get());
    }
    return *producer;
}

bool UnitWorker::commit() {
    auto const wait = [this] {
        run_->ledger->check_room();
        if (while_waiting_) while_waiting_();
    };
    std::erase_if(begun_, [](auto* producer) { return producer->unit_rows() == 0; });
    if (begun_.empty()) producer(std::size_t{0}); // somebody has to tell the committer
    auto& units = run_->ledger->units(while_waiting_);
    if (units.find(key_) || (run_->keys && !run_->keys->take(key_))) {
        drop();
        return false;
    }
    if (is_ordered()) seal_group();
    auto const entry = units.reserve(key_, summary_, wait);
    for (std::uint32_t part = 0; part < begun_.size(); ++part) begun_[part]->prepare_commit(entry, part);
    // Before the key is taken: of a worker that is killed between the two, nobody can tell later whether it has
    // counted, and a number that is too low would call units durable that are not.
    auto& committed = run_->ledger->head().units_committed;
    ++committed;
    if (!units.link(entry, static_cast<std::uint32_t>(begun_.size()))) {
        --committed;
        drop();
        return false;
    }
    for (auto* producer : begun_) producer->commit_unit(entry);
    begun_.clear();
    if (is_ordered()) producers_.clear();
    return true;
}

// Where the run is ordered by key each group has producers of its own: how its rows are cut into pages and clusters
// does not depend on what their worker did before.
void UnitWorker::drop() {
    for (auto* producer : begun_) is_ordered() ? producer->leave_unit() : producer->drop_unit();
    begun_.clear();
    if (is_ordered()) producers_.clear();
}

void UnitWorker::finish() {
    std::exception_ptr error;
    for (auto& producer : producers_) {
        try {
            if (producer) producer->finish();
        } catch (base::Error const&) { // the others end all the same
            if (!error) error = std::current_exception();
        }
    }
    producers_.clear();
    if (error) std::rethrow_exception(error);
}

void UnitWorker::abandon(std::string_view reason) noexcept {
    for (auto& producer : producers_) {
        if (producer) producer->abandon(reason);
    }
    producers_.clear();
}

void UnitWorker::set_while_waiting(std::function<void()> callback) {
    while_waiting_ = std::move(callback);
    for (auto& producer : producers_) {
        if (producer) producer->set_while_waiting(while_waiting_);
    }
}

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
        // The run is over, or cannot go on: the rows do not count all the same, since nobody took the key for them.
    }
}

void WorkUnit::check_open() const {
    if (worker_) return;
    base::fail_usage(
        {fmt::format("work unit {} has ended", key_.str()), "it was committed or dropped", "begin another one"});
}

std::unique_ptr<UnitWorker> WorkUnit::take_worker() {
    base::Lock const lock(idle_->mutex);
    std::erase_if(idle_->open, [&](Idle::Open const& each) { return each.worker == worker_.get(); });
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

void WorkUnit::set_while_waiting(std::function<void()> callback) {
    check_open();
    worker_->set_while_waiting(std::move(callback));
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

WorkUnit WorkUnits::begin(UnitKey const& key, std::string summary, std::function<void()> while_waiting) {
    if (keys_per_group() == 0) return begin_any(key, std::move(summary), std::move(while_waiting));
    if (!key.is_integer) {
        base::fail_usage({fmt::format("{}: no work unit can have the key {}", path_, key.str()),
                          "the run is ordered by key", "give an integer"});
    }
    if (keys_per_group() > 1) {
        base::fail_usage({fmt::format("{}: work unit {} cannot be begun alone", path_, key.str()),
                          fmt::format("units are committed in groups of {} keys", keys_per_group()),
                          "begin its group, and the unit in that"});
    }
    auto unit = begin_group(key.integer, std::move(while_waiting));
    unit.next_key(key.integer, std::move(summary));
    return unit;
}

WorkUnit WorkUnits::begin_group(std::int64_t number, std::function<void()> while_waiting) {
    if (keys_per_group() == 0) base::fail_usage({path_ + " has no groups of work units", "it is not ordered by key"});
    return begin_any(number, {}, std::move(while_waiting));
}

WorkUnit WorkUnits::begin_any(UnitKey const& key, std::string summary, std::function<void()> while_waiting) {
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
    worker->set_while_waiting(std::move(while_waiting));
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
        run = attach(head.next_ledger, run->options.seal_threads);
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
