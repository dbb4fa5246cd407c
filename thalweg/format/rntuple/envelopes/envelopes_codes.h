// Numbers of the specification that writing and parsing share. For this folder's own .cc files.
#pragma once

#include <cstdint>
#include <limits>

namespace thalweg::format::rntuple {

enum class EnvelopeType : std::uint16_t { header = 1, footer = 2, page_list = 3 };

// Flags of fields and of columns.
inline constexpr std::uint16_t kArrayField = 0x01;
inline constexpr std::uint16_t kProjectedField = 0x02;
inline constexpr std::uint16_t kFieldWithChecksum = 0x04;
inline constexpr std::uint16_t kStructOfArraysField = 0x08;
inline constexpr std::uint16_t kDeferredColumn = 0x01;
inline constexpr std::uint16_t kColumnWithRange = 0x02;

inline constexpr std::int64_t kSuppressed = std::numeric_limits<std::int64_t>::min(); // as an element offset

// A locator with a 64-bit size: its type, and its own size. The word that holds them is negated as a whole, as ROOT
// and uproot do it.
inline constexpr std::int32_t kLargeLocator = 0x01;
inline constexpr std::int32_t kLargeLocatorBytes = 20;

} // namespace thalweg::format::rntuple
