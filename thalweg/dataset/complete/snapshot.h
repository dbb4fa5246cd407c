// Writes what a running recording has so far as an ordinary, complete file of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/storage/unpublished_file.h"

namespace thalweg::dataset {

struct SnapshotOptions {
    bool force = false;                       // a file of that name is replaced
    std::function<void()> while_copying = {}; // called now and then; may throw
};

struct SnapshotResult {
    RunReport report; // notes of what is left out, too
    std::string path;
    std::uint64_t file_bytes = 0;
    storage::CopyWay copied = storage::CopyWay::through;
    // Committed, and not yet whole in the journal. In a run that is ordered by key: groups of units.
    std::uint64_t units_left_out = 0;
    bool is_written = true; // false: the process that wrote the run is gone, or it is a copy
};

// Writes to `out` all rows that the journal of the run at `path` knows: those that `recover` would keep if everything
// died now, but for what is only in the memory of producers. Takes no lock of the run and writes nothing of it. `out`
// has its name only when it is complete and durable. Throws base::UsageError if there is no run that is being
// written, or no place for `out`.
SnapshotResult snapshot(std::string const& path, std::string const& out, SnapshotOptions const& options = {});

} // namespace thalweg::dataset
