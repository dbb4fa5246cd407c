// What a worker does with the rows of its work units: appends them, takes the key, or drops them.
//
// To commit a unit is a protocol with the committer, so that a worker that is killed at any step either has not
// committed (its rows do not count) or has (the committer ends what it began):
//
//     rows appended     the tail of the columns of its producers
//        |              commit(): UnitTable::reserve writes key and summary into a new entry
//        v              Producer::prepare_commit notes the entry with each producer
//     prepared          UnitTable::link: one compare-and-swap. If the key is taken already: drop().
//        v
//     committed         Producer::commit_unit announces the rows of each producer; for a worker that is dead, the
//        |              committer does (ProducerIntake::commit_for_the_dead)
//        v
//     announced         the next unit may begin
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/journal/unit_key.h"
#include "thalweg/dataset/run/unit_group.h"

namespace thalweg::dataset {

// Has producers of one table each, and one open unit at a time.
class UnitWorker {
  public:
    explicit UnitWorker(std::shared_ptr<OpenRun> run) : run_(std::move(run)) {}

    void begin(UnitKey const& key, std::string summary);
    Producer& producer(std::string const& table);
    // In a group of units, in a run that is ordered by key: rows that follow are of this unit.
    void next_key(std::int64_t key, std::string summary);
    void set_summary(std::string summary);
    bool commit();
    void drop();
    void finish();
    void abandon(std::string_view reason) noexcept;
    std::shared_ptr<OpenRun> const& run() const { return run_; }
    std::string name() const; // of what is open, as "work unit 17"

  private:
    Producer& producer(std::size_t table);
    void follow_rotation();
    bool is_ordered() const { return run_->head.keys_per_group > 0; }
    void drop_of(Producer& producer);
    void end_key();
    void seal_group();

    std::shared_ptr<OpenRun> run_;
    std::vector<std::unique_ptr<Producer>> producers_; // by table
    bool is_open_ = false;                             // a unit
    std::vector<Producer*> begun_;                     // with rows of the open unit
    UnitKey key_;
    std::string summary_;
    std::vector<UnitOfGroup> group_;        // the units of the open group so far
    std::vector<std::uint64_t> group_rows_; // by table: of the units in front of the last one
};

} // namespace thalweg::dataset
