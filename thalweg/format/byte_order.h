// Numbers that are stored big endian.
#pragma once

#include <cstddef>
#include <span>

#include "thalweg/model/schema.h"

namespace thalweg::format {

// In place; of complex numbers each part. Bytes behind the last whole number stay as they are.
void swap_numbers(std::span<std::byte> bytes, model::Scalar scalar);

} // namespace thalweg::format
