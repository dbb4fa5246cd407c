// What makes a range its owner's: a key that only the owner knows. Asking for events it shows the seal, which is made
// of the key and from which nobody can tell the key; clearing them, the key.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg::readout {

using Key = std::array<std::uint64_t, 2>;
using Seal = std::array<std::uint64_t, 2>;

// The first 16 bytes of the SHA-256 of the key's 16.
Seal seal_of(Key const& key);
Key random_key();

} // namespace thalweg::readout
