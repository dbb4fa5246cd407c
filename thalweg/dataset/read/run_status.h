// How a run is that another process writes: who writes it, and what its producers and its committer say in the memory
// of the run. Nothing is asked of these processes, and no lock is taken that they could wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/run_writers.h"
#include "thalweg/dataset/run/commit_status.h"

namespace thalweg::dataset {

// A producer that has not ended, or whose process has died and is not settled yet.
struct WritingProducer {
    ProducerStatus status;
    bool is_alive = false; // its process
};

// What the memory of one node of a run says.
struct NodeFigures {
    std::vector<WritingProducer> producers;
    std::vector<EndedProducers> ended; // by table
    std::uint64_t pages = 0;
    std::uint64_t claimed_bytes = 0;
    std::uint64_t journal_bytes = 0;
    // What a power cut would cost: every row (of no work unit) whose append returned before that is durable.
    std::uint64_t durable_lag_ns = 0;
    std::uint64_t sync_ns = 0; // of the last sync
    std::uint64_t units_committed = 0;
    std::uint64_t units_not_durable = 0;
    std::uint64_t units_oldest_age_ns = 0; // of those
    std::string memory;                    // where it lies
    std::string failure;                   // empty: well
    std::uint64_t names_without_room = 0;  // counters of ended producers that are not in `ended`
};

struct NodeStatus {
    std::uint32_t node = 0;
    std::string host; // where it is, or was, written
    RunWriters writers;
    bool is_closing = false;
    std::int32_t committer = 0;         // pid of the process that keeps the journal; 0: none lives, or it is not known
    std::optional<NodeFigures> figures; // nothing if its memory is not there, or cannot be seen
};

struct RunStatus {
    bool is_closed = false;
    std::vector<NodeStatus> nodes; // with a journal; of a file without one: one, of which nothing is known
};

// Throws base::UsageError if another version of Thalweg writes the run, base::DataError if the path leads to another
// run by now, and base::SystemError if the machine does not say what is asked.
RunStatus status_of(Reader const& reader);

} // namespace thalweg::dataset
