// Work units: rows, of any tables, that count together or not at all.
//
// A unit has a key. The rows that a worker appends to it are the tail of its producers until the unit is committed:
// that takes the key, and a worker that comes later with the same key finds it taken, and its rows are dropped. So work
// that is done again, after its worker died or because two had it, counts once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/unit_worker.h"
#include "thalweg/dataset/journal/unit_key.h"

namespace thalweg::dataset {

class WorkUnits;

// One open unit: of one thread. Goes without being committed: it is dropped.
class WorkUnit {
  public:
    WorkUnit(WorkUnit&&) noexcept = default;
    ~WorkUnit();

    // Returns the producer of a table, valid until the unit ends. Throws base::UsageError if there is no such table.
    Producer& operator[](std::string const& table);

    // Begins the next unit of a group: rows that follow are of this one. Throws base::UsageError if its key is not of
    // the group, or not behind the keys in front of it.
    void next_key(std::int64_t key, std::string summary = {});

    // Replaces the summary that it began with; in a group of units, that of the last one that has begun. Throws as
    // `begin`.
    void set_summary(std::string summary);

    // Takes the key: from here on all rows of the unit count, in every table. Returns false if the key was taken
    // before, by this or another worker, or is another node's: the rows are dropped then. Throws base::SystemError if
    // the run cannot go on, or if the disk is full (the unit does not count then, and can be done again), and
    // base::UsageError if the unit has ended.
    bool commit();
    // The rows are dropped. Does nothing where the unit has ended.
    void drop();

    UnitKey const& key() const { return key_; }

  private:
    friend class WorkUnits;
    struct Idle;
    WorkUnit(std::shared_ptr<Idle> idle, std::unique_ptr<UnitWorker> worker, UnitKey key)
        : idle_(std::move(idle)), worker_(std::move(worker)), key_(std::move(key)) {}
    std::unique_ptr<UnitWorker> take_worker(); // the unit ends
    void give_back(std::unique_ptr<UnitWorker> worker);
    void check_open() const;

    std::shared_ptr<Idle> idle_;
    std::unique_ptr<UnitWorker> worker_; // none: the unit has ended
    UnitKey key_;
};

// The units of this process in one run, and its workers: as many as units were ever open at once.
class WorkUnits {
  public:
    explicit WorkUnits(std::shared_ptr<OpenRun> run);

    // Throws base::UsageError if the key has no byte or more than 64, or the summary more than 64 KiB.
    WorkUnit begin(UnitKey const& key, std::string summary = {});

    // Begins a group of units, which are committed together, in a run that is ordered by key. Group n has the keys from
    // n * keys_per_group() on. If that is 1, `begin` does as well.
    WorkUnit begin_group(std::int64_t number);
    // 0: there is no order.
    std::uint64_t keys_per_group() const { return keys_per_group_; }

    // Returns whether the key is taken. It may not be durable yet.
    bool is_committed(UnitKey const& key) const;

    // Takes the key for this one of several nodes that share keys, with those that are taken together with it, so that
    // units of them can be committed here and nowhere else. Returns false if another node has them.
    bool take(UnitKey const& key) const;

    // Returns all keys that are taken, in no order; also those of earlier files of the run.
    std::vector<UnitKey> committed_keys() const;

    // Returns whether the number of a group is taken.
    bool is_group_committed(std::int64_t number) const;

    // Throws base::UsageError if this thread has begun a unit that is open: to wait for its end would be to wait for
    // ever.
    void check_none_of_this_thread() const;

    // Ends the workers that have no open unit: their producers write what they have. Throws the first error of any of
    // them once all have ended; the committer has what they could not write.
    void finish();
    // Leaves what these have to the committer.
    void abandon();
    // The same, of a worker that ends on an exception: the run's report will say so.
    void abandon(std::string_view reason);

  private:
    // Returns a file of the run that is open: if the one that was attached to is closed, one of those that follow.
    std::shared_ptr<OpenRun> open_file() const;
    WorkUnit begin_any(UnitKey const& key, std::string summary);

    std::shared_ptr<WorkUnit::Idle> idle_;
    std::string path_;
    std::uint64_t keys_per_group_; // of all files that follow each other
};

} // namespace thalweg::dataset
