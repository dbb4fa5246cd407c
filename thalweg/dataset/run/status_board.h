// The status board: what the committer says of itself, and of producers that have ended, to any process that asks how
// the run is (read/run_status.h). One segment of memory beside the ledger, with a version of its own.
//
// Producers at work count in their own segments (staging.h). When the committer has settled one, its counts go into the
// sums of its table here, and its slot is free again. `changes` is odd meanwhile: a process that reads the same even
// number before and after has counted each producer once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/base/memory.h"
#include "thalweg/dataset/run/commit_status.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/staging.h"

namespace thalweg::dataset {

// Moments are those of base::monotonic_ns.
struct CommitterFigures {
    std::atomic<std::uint64_t> pages;
    std::atomic<std::uint64_t> journal_bytes;
    std::atomic<std::uint64_t> durable_ns; // every row whose append had returned at that moment is durable
    std::atomic<std::uint64_t> sync_ns;    // of the last sync
    std::atomic<std::uint64_t> cpu_ns;     // of the committer's thread
    std::atomic<std::uint64_t> units_durable;
    std::atomic<std::uint64_t> units_after_ns; // those that are not durable were committed later
};

// The sums over all producers of a table that have ended.
struct TableSums {
    std::atomic<std::uint64_t> producers;
    std::atomic<std::uint64_t> died;
    std::atomic<std::uint64_t> abandoned;
    std::atomic<std::uint64_t> rows;
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::count_)> counts;
    std::atomic<std::uint64_t> names_without_room; // counters that are not among these:
    std::array<NamedCounter, kNamedCounters> named;
};

struct BoardHead {
    char magic[8];
    std::uint32_t version;
    std::uint32_t tables;
    alignas(64) std::atomic<std::uint64_t> changes;
    CommitterFigures figures;
};

class StatusBoard {
  public:
    // The committer's: makes the board of a run, in memory that goes with that of the ledger.
    static StatusBoard create(Ledger& ledger, std::size_t tables);
    // Returns nothing if there is none: the run has just begun, or a version of Thalweg without boards writes it.
    // Throws base::UsageError if the board is of another version.
    static std::optional<StatusBoard> attach(Ledger const& ledger);

    CommitterFigures& figures() const { return head().figures; }
    std::size_t tables() const { return head().tables; }
    TableSums& sums(std::size_t table) const { return tables_[table]; }
    std::uint64_t changes() const { return head().changes.load(); }

    // The committer's: producers go from their slots into the sums between these two.
    void begin_change() const { head().changes.fetch_add(1); }
    void end_change() const { head().changes.fetch_add(1); }
    void set_sums(std::size_t table, EndedProducers const& ended) const;

    // Returns the sums, which are of one moment only if `changes` is even and stays the same.
    EndedProducers read_sums(std::size_t table) const;

  private:
    explicit StatusBoard(base::SharedMemory memory);
    BoardHead& head() const { return *reinterpret_cast<BoardHead*>(memory_.data()); }

    base::SharedMemory memory_;
    TableSums* tables_;
};

// Puts how far the committer is into the status of its run: for the process that writes it, and for any other one. In
// this order, so that what happens meanwhile makes the numbers worse than it is, and not better.
template <typename Status>
void read_committed(Ledger const& ledger, CommitterFigures const& committer, Status& status) {
    auto const& shared = ledger.head();
    auto const durable_ns = committer.durable_ns.load(), after_ns = committer.units_after_ns.load();
    auto const units_durable = committer.units_durable.load();
    auto const now = base::monotonic_ns();
    status.pages = committer.pages;
    status.claimed_bytes = shared.claimed;
    status.journal_bytes = committer.journal_bytes;
    status.durable_lag_ns = now - std::min(now, durable_ns);
    status.sync_ns = committer.sync_ns;
    status.units_committed = shared.units_committed;
    status.units_not_durable = status.units_committed - std::min(status.units_committed, units_durable);
    if (status.units_not_durable > 0) status.units_oldest_age_ns = now - std::min(now, after_ns);
    status.memory = ledger.memory_place();
    status.failure = shared.state == LedgerState::failed ? shared.failure : ledger.room_problem();
}

} // namespace thalweg::dataset
