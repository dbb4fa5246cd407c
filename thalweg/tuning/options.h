// Everything about a run that can be tuned and changes no value in it. Each member is a knob: it has one line in
// knob_table.cc, and from that come its range, its texts and what users can set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "thalweg/model/layout.h"
#include "thalweg/storage/storage.h"

namespace thalweg::tuning {

struct StagingOptions {
    // Page buffers of columns with buffers of their own, at most: half fills while half is written. Columns inside
    // lists have more of them.
    std::uint64_t page_ring_bytes = 16 << 20;
    std::uint64_t min_buffers = 3; // each such column may have so many, even where that is more
    std::uint32_t ring_size = 1024;
    // Page buffers of all producers of a process, of all its outputs, together.
    std::uint64_t memory_bytes = 64 << 20;
};

struct WriteOptions {
    storage::Engine engine = storage::Engine::automatic;
    std::uint64_t extent_bytes = 2 << 20; // a producer gathers about this much before it writes
    std::size_t queue_depth = 4;          // such writes in flight, a producer
    unsigned seal_threads = 0;            // per producer, for encoding; 0: the thread that appends
    StagingOptions staging = {};
    // Whole pages of a batch that have so many bytes are encoded from the caller's memory. 0: none are.
    std::uint64_t unbuffered_bytes = 16 << 20;
};

struct CommitOptions {
    std::uint64_t flush_interval_ns = 1'000'000'000; // payload synced, then a BARRIER in the journal
    double interim_footer_share = 0.01;              // what interim metadata may take of the file, and of a CPU
    std::uint64_t allocate_ahead_bytes = 256 << 20;  // claims beyond what is allocated wait
    std::uint64_t rows_budget_bytes = 32 << 20;      // of rows that are in no page, journaled each interval
    bool journal_units = true;                       // also of committed work units
};

struct Tuning {
    model::LayoutOptions layout = {};
    WriteOptions write = {};
    CommitOptions commit = {};
    bool whole_file_checksum = true;
    // For what /dev/shm has no room for; empty: as the environment says, or beside the data.
    std::string memory_folder = {};
};

} // namespace thalweg::tuning
