// Memory that runs have left in /dev/shm and in folders, and what of it can be needed no more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

struct LedgerHead;

enum class MemoryState : std::uint8_t {
    held,        // by a living process
    recoverable, // its run is unfinished, and where it was: `recover` takes what is in there
    left_over,   // its run is closed, or its journal is no longer where it was
    foreign, // of another machine, container, user or version of Thalweg, or from before a restart: not ours to judge
};

// What one run has left.
struct MemoryOfRun {
    std::string ledger; // its name, which is the run's handle
    std::string run_id;
    std::string data_path; // where the run was created
    std::vector<std::string> files;
    std::uint64_t size_bytes = 0;
    std::uint64_t age_ns = 0; // since its committer was last alive
    MemoryState state = MemoryState::foreign;
    std::string why;     // a sentence
    bool closed = false; // the run is complete: nothing can ever need this
};

// In /dev/shm, and in these folders.
std::vector<MemoryOfRun> list_memory(std::vector<std::string> const& folders = {});

// Returns why the processes that it names cannot be asked for; empty if they are, or were, of this machine and this
// container, since this boot.
std::string why_elsewhere(LedgerHead const& head);

// Throws base::UsageError where it is not, or no longer, left over.
void remove_left_over(MemoryOfRun const& memory);

// What a run that was closed could not remove, because its process was killed at that moment. A journal that is not
// where it was proves nothing: the run may have been moved, and its rows are in here.
void remove_stale_segments();

// Keeps `remove_left_over` from the memory of this ledger for as long as the descriptor, or that of a forked child, is
// open. Empty where there is no such memory.
base::FileDescriptor hold_memory(std::string const& ledger);

} // namespace thalweg::dataset
