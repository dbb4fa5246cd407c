// Numbers that are stored big endian.
#pragma once

#include <cstddef>
#include <span>

#include "thalweg/model/schema.h"

namespace thalweg::format {

// Swaps the bytes of each number in place; of a complex number, those of each part. Bytes behind the last whole number
// stay as they are.
void swap_numbers(std::span<std::byte> bytes, model::Scalar scalar);

} // namespace thalweg::format
