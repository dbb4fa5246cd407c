// The knobs that reach every process which writes to a run, as they stand in the ledger's head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "thalweg/tuning/options.h"

namespace thalweg::tuning {

inline constexpr std::size_t kMostWords = 24;

// A checksum of the names of these knobs, their values in the order of the table, then zeros.
using Words = std::array<std::uint64_t, kMostWords>;

Words pack(Tuning const& tuning);

// Throws base::UsageError where they were packed by another table, or a value is out of its range.
Tuning unpack(Words const& words);

} // namespace thalweg::tuning
