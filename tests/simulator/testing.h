// For the tests of this folder: the bytes of files.
#pragma once

#include "tests/simulator/image.h"

namespace thalweg::simulator {

using Bytes = std::vector<std::byte>;

inline Bytes filled(std::size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

inline Bytes bytes_of(Image const& image) {
    Bytes bytes(image.size());
    image.read(0, bytes);
    return bytes;
}

} // namespace thalweg::simulator
