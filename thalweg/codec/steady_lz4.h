// An LZ4 encoder for metadata whose result follows from its input alone, with every version of every library: what a
// process writes at the beginning of a file, another one that completes the file must be able to make again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thalweg::codec {

// Returns one LZ4 block. The last `tail_bytes` are literals, so that the size of the block does not depend on them.
std::vector<std::byte> encode_steady_lz4(std::span<std::byte const> in, std::size_t tail_bytes = 0);

} // namespace thalweg::codec
