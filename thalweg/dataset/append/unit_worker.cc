#include "thalweg/dataset/append/unit_worker.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
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
    THALWEG_ASSERT(!is_open_, "a worker has one open unit");
    check(*run_, key, summary);
    follow_rotation();
    key_ = key;
    summary_ = std::move(summary);
    begun_.clear();
    group_.clear();
    group_rows_.assign(run_->head.schema.tables.size(), 0);
    is_open_ = true;
    if (auto const* const units = run_->ledger->units_if_any()) units->prefetch(key);
}

std::string UnitWorker::name() const {
    return is_ordered() ? name_of_group(key_.integer, run_->head.keys_per_group) : "work unit " + key_.str();
}

// The worker follows with all its producers, and none of these alone: key and rows of a unit are in one file.
void UnitWorker::follow_rotation() {
    while (run_->ledger->head().has_next.load(std::memory_order_acquire) != 0) {
        finish();
        run_ = attach_next(*run_);
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

// Before the key is taken: a worker that dies behind that leaves nothing that another process would cut into pages.
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
    THALWEG_ASSERT(is_open_, "a unit is committed once, and not after it was dropped");
    auto const wait = [this] {
        run_->ledger->check_room();
        if (run_->while_waiting) run_->while_waiting();
    };
    std::erase_if(begun_, [](auto* producer) { return producer->unit_rows() == 0; });
    if (begun_.empty()) producer(std::size_t{0}); // one producer has to tell the committer
    auto& units = run_->ledger->units(run_->while_waiting);
    if (units.find(key_) || (run_->keys && !run_->keys->take(key_))) {
        drop();
        return false;
    }
    if (is_ordered()) seal_group();
    auto const entry = units.reserve(key_, summary_, wait);
    for (std::uint32_t part = 0; part < begun_.size(); ++part) begun_[part]->prepare_commit(entry, part);
    // Before the key is taken: of a worker that is killed between the two, no process can tell later whether it has
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
    is_open_ = false;
    if (is_ordered()) producers_.clear();
    return true;
}

// In a run that is ordered by key each group has producers of its own: how its rows are cut into pages and clusters
// does not depend on what their worker did before.
void UnitWorker::drop() {
    is_open_ = false;
    for (auto* producer : begun_) is_ordered() ? producer->drop_unit_and_finish() : drop_of(*producer);
    begun_.clear();
    if (is_ordered()) producers_.clear();
}

// A producer may have to begin anew. If the run has gone on, its file is closed once the last producer in it has ended,
// which may be this one; the next unit begins in the file that is open then.
void UnitWorker::drop_of(Producer& producer) {
    try {
        producer.drop_unit();
    } catch (base::Error const&) {
        auto const& head = run_->ledger->head();
        if (head.state != LedgerState::closed || head.has_next == 0) throw;
        std::ranges::find(producers_, &producer, &std::unique_ptr<Producer>::get)->reset();
    }
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

} // namespace thalweg::dataset
