#include "thalweg/dataset/append/work_unit.h"

#include <algorithm>
#include <fmt/format.h>

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
}

// The worker with all its producers, and none of these alone: key and rows of a unit are in one file.
void UnitWorker::follow_rotation() {
    while (run_->ledger->head().has_next.load(std::memory_order_acquire) != 0) {
        std::string const next = run_->ledger->head().next_ledger;
        finish();
        run_ = attach(next, run_->options.seal_threads);
    }
}

Producer& UnitWorker::producer(std::string const& table) { return producer(run_->head.schema.table_index(table)); }

Producer& UnitWorker::producer(std::size_t table) {
    if (begun_.empty()) follow_rotation(); // as long as it has begun in no file
    if (producers_.empty()) producers_.resize(run_->head.schema.tables.size());
    auto& producer = producers_[table];
    if (!producer) {
        producer = std::make_unique<Producer>(run_, table, true);
        producer->set_while_waiting(while_waiting_);
    }
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
    if (units.find(key_)) {
        drop();
        return false;
    }
    auto const entry = units.reserve(key_, summary_, wait);
    for (std::uint32_t part = 0; part < begun_.size(); ++part) begun_[part]->prepare_commit(entry, part);
    if (!units.link(entry, static_cast<std::uint32_t>(begun_.size()))) {
        drop();
        return false;
    }
    ++run_->ledger->head().units_committed;
    for (auto* producer : begun_) producer->commit_unit(entry);
    begun_.clear();
    return true;
}

void UnitWorker::drop() {
    for (auto* producer : begun_) producer->drop_unit();
    begun_.clear();
}

void UnitWorker::finish() {
    for (auto& producer : producers_) {
        if (producer) producer->finish();
    }
    producers_.clear();
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

// Workers without an open unit.
struct WorkUnit::Idle {
    base::Mutex mutex;
    std::vector<std::unique_ptr<UnitWorker>> workers THALWEG_GUARDED_BY(mutex);
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

bool WorkUnit::commit() {
    check_open();
    auto worker = std::move(worker_);
    auto const committed = worker->commit();
    give_back(std::move(worker));
    return committed;
}

void WorkUnit::drop() {
    if (!worker_) return;
    auto worker = std::move(worker_);
    worker->drop();
    give_back(std::move(worker));
}

WorkUnits::WorkUnits(std::shared_ptr<OpenRun> run) : idle_(std::make_shared<WorkUnit::Idle>()) {
    base::Lock const lock(idle_->mutex);
    idle_->run = std::move(run);
}

WorkUnit WorkUnits::begin(UnitKey const& key, std::string summary, std::function<void()> while_waiting) {
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
    return {idle_, std::move(worker), key};
}

std::shared_ptr<OpenRun> WorkUnits::open_file() const {
    base::Lock const lock(idle_->mutex);
    auto& run = idle_->run;
    while (run->ledger->head().state == LedgerState::closed && run->ledger->head().has_next != 0)
        run = attach(run->ledger->head().next_ledger, run->options.seal_threads);
    run->ledger->check_alive();
    return run;
}

bool WorkUnits::is_committed(UnitKey const& key) const {
    auto const run = open_file();
    auto const* const units = run->ledger->units_if_any();
    return units != nullptr && units->find(key);
}

std::vector<UnitKey> WorkUnits::committed_keys() const {
    auto const run = open_file();
    auto const* const units = run->ledger->units_if_any();
    return units == nullptr ? std::vector<UnitKey>{} : units->all_keys();
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
    for (auto& worker : idle_->workers) worker->finish();
    idle_->workers.clear();
}

} // namespace thalweg::dataset
