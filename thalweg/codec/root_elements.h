// Elements of the model <-> elements of an RNTuple column of whole bytes: another width, zigzag, delta, half precision.
#pragma once

#include <cstddef>

namespace thalweg::codec {

struct Conversion {
    // False where a value does not fit. `back` may work in place where both sizes are the same.
    using Loop = bool (*)(std::byte const* in, std::byte* out, std::size_t count);
    Loop forth = nullptr; // from the model's elements to the column's
    Loop back = nullptr;

    explicit operator bool() const { return forth != nullptr; } // no: both are the same
};

enum class Coding : unsigned char { as_is, zigzag, delta };

// Converts integers of these sizes (1, 2, 4 or 8 bytes); both are signed, or both are not.
Conversion integer_conversion(bool is_signed, std::size_t column_bytes, std::size_t element_bytes, Coding coding);

// float16 in the column, float32 in the model; to the nearest, ties to even.
Conversion half_conversion();

} // namespace thalweg::codec
