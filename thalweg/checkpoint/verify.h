// Compares all of a checkpoint with what was saved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::checkpoint {

struct Verified {
    std::uint64_t pieces = 0; // that have a checksum and were compared
    std::vector<std::string> faults;
};

// Returns nothing if the file is no checkpoint. Throws base::SystemError if it cannot be read. `progress` is called
// with the fraction that is done, from any thread, one call at a time; what it throws ends this.
std::optional<Verified> verify(std::string const& path, unsigned threads,
                               std::function<void(double)> const& progress = {});

} // namespace thalweg::checkpoint
