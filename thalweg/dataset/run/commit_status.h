// How a run that is being written is doing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/base/process.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/staging.h"

namespace thalweg::dataset {

// A producer that has not settled.
struct ProducerStatus {
    std::uint32_t number = 0;
    std::size_t table = 0;
    base::ProcessId process;
    SlotState state = SlotState::free;
    std::uint64_t rows = 0; // that count
    Counts counts{};
    std::map<std::string, std::uint64_t> named;
    double staging_fill = 0; // of the fullest column, 0 to 1
    // By column: the first so many items would survive a power cut. Empty: there was no flush yet.
    std::vector<std::uint64_t> durable_items = {};
};

// Puts what the producer has counted in its memory into its status.
void read_counts(Staging const& staging, ProducerStatus& status);

// All producers of a table that have settled, together.
struct EndedProducers {
    std::uint64_t producers = 0;
    std::uint64_t died = 0;      // among them
    std::uint64_t abandoned = 0; // among them: their workers ended on an exception
    std::uint64_t rows = 0;
    Counts counts{};
    std::map<std::string, std::uint64_t> named;
};

// A producer whose worker ended on an exception.
struct AbandonedStatus {
    std::uint32_t number = 0;
    std::size_t table = 0;
    std::uint64_t rows = 0;
    std::string reason;
};

struct CommitStatus {
    std::vector<ProducerStatus> producers;
    std::vector<EndedProducers> ended;      // by table
    std::vector<ProducerStatus> settled;    // among these, whose rows are not all durable yet
    std::vector<AbandonedStatus> abandoned; // the first ones of this file
    std::uint64_t pages = 0;
    std::uint64_t claimed_bytes = 0;
    std::uint64_t journal_bytes = 0;
    // What a power cut would cost: every row (of no work unit) whose append returned before that is durable.
    std::uint64_t durable_lag_ns = 0;
    std::uint64_t units_committed = 0;     // keys taken in this file; one more for each worker killed as it took one
    std::uint64_t units_not_durable = 0;   // among them
    std::uint64_t units_oldest_age_ns = 0; // of those
    std::uint64_t sync_ns = 0;             // of the last sync
    std::uint64_t cpu_ns = 0;              // of the committer's thread
    std::string memory;                    // where that of the producers lies: /dev/shm, or a folder and why
    std::string memory_need; // empty, or how much more of it than their budget producers of a process took
    std::string failure;     // empty: well
    bool has_failed = false; // so it takes no more rows, whatever room the disk has later
};

} // namespace thalweg::dataset
