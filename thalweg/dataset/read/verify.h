// Compares every stored byte of a file with what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct Verification {
    bool open_run = false;
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t pages_without_checksum = 0;
    std::uint64_t faults = 0;
    std::vector<std::string> messages;    // of the first faults: table, column, items, offset, reason
    std::vector<model::LeftOut> left_out; // of another program's file: nothing is known about these
    std::uint32_t adler32 = 0;            // of the whole closed file
    std::uint64_t file_bytes = 0;
};

// Compares every page with its checksum and, in a closed file, the container's own index with the page map. If
// everything in a file is left out, only that is reported: another reader may read more of it. `progress` hears the
// share that is done, from any thread, one call at a time.
Verification verify(std::string const& path, unsigned threads = 0, std::function<void(double)> const& progress = {});

} // namespace thalweg::dataset
