#pragma once

#include <cstdint>

namespace thalweg::base {

// Returns 64 bits from the machine's own source: for names that must be unique, not for sequences that can be repeated.
std::uint64_t random_word();

} // namespace thalweg::base
