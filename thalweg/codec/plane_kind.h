// Which way of compression serves a byte plane, by a look at a piece of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::codec {

enum class PlaneKind : std::uint8_t {
    noise,    // it would not shrink
    literals, // single bytes are frequent
    matches,  // strings of bytes are
};

// A function of the plane's bytes alone: so pages that are equal are encoded equally, whatever was encoded before. It
// costs a twentieth of compressing the plane both ways, which would tell for certain. `plane`: kLeastPlaneBytes.
PlaneKind kind_of_plane(std::span<std::byte const> plane);

inline constexpr std::size_t kLeastPlaneBytes = 4096;

} // namespace thalweg::codec
