// Encoded pages that lie one behind the other in another file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace thalweg::dataset {

// Each has the XXH3 of its bytes behind it, as pages of RNTuples have.
struct PageSource {
    std::function<void(std::span<std::byte>)> read; // all of them, with these
    std::function<void(std::size_t)> fail_at;       // is told which page does not fit its checksum, and throws
};

} // namespace thalweg::dataset
