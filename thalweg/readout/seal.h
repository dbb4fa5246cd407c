// The key of a range makes a client its owner: only the owner knows it. A client shows the seal when it asks for
// events, and the key when it clears them. The seal is computed from the key; the key cannot be computed from the seal.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg::readout {

using RangeKey = std::array<std::uint64_t, 2>;
using RangeSeal = std::array<std::uint64_t, 2>;

// Returns the first 16 bytes of the SHA-256 of the key's 16 bytes.
RangeSeal seal_of(RangeKey const& key);
RangeKey random_key();

} // namespace thalweg::readout
