// Shared by the tests of this folder: the first event, and two collectors.
#pragma once

#include "thalweg/readout/server/leases.h"

namespace thalweg::readout {

inline constexpr std::uint64_t kFirst = (1ull << 32) + 100; // epoch 1
inline constexpr OwnerId kAlice{1, 1}, kBob{2, 2};
inline constexpr std::uint64_t kLeaseNs = 1000;

} // namespace thalweg::readout
