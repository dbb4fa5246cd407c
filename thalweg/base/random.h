#pragma once

#include <cstdint>

namespace thalweg::base {

// 64 bits from the machine's own source: for names that nobody else has, never for sequences that can be repeated.
std::uint64_t random_word();

} // namespace thalweg::base
