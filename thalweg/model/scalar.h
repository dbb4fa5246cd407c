// The types of single values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::model {

enum class Scalar : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    complex64,  // two float32: real, imaginary
    complex128, // two float64
};
inline constexpr std::array kScalars{Scalar::boolean,   Scalar::int8,    Scalar::int16,   Scalar::int32,
                                     Scalar::int64,     Scalar::uint8,   Scalar::uint16,  Scalar::uint32,
                                     Scalar::uint64,    Scalar::float32, Scalar::float64, Scalar::complex64,
                                     Scalar::complex128}; // all there are

std::size_t size_bytes(Scalar scalar);
bool is_complex(Scalar scalar);
std::string_view name_of(Scalar scalar);
// Throws base::UsageError that lists the scalars.
Scalar parse_scalar(std::string_view name);

} // namespace thalweg::model
