// Rearranges the elements of a page by byte (shuffle) or by bit (bitshuffle), so that what changes little lies
// together.
#pragma once

#include "thalweg/codec/kernel.h"

#include <memory>

namespace thalweg::codec {

// Not thread-safe: it owns scratch memory.
class Transposer {
  public:
    explicit Transposer(std::size_t element_bytes, Kernel const& kernel = best_kernel());

    // HDF5 filter 2: all first bytes, all second bytes, and so on; bytes beyond the last whole element stay as they
    // are.
    void shuffle(std::span<std::byte const> in, std::byte* out);
    void unshuffle(std::span<std::byte const> in, std::byte* out);

    // One block of the bitshuffle library: 8 * element_bytes bit planes. `in` is a multiple of 8 elements long.
    void shuffle_bits(std::span<std::byte const> in, std::byte* out);
    void unshuffle_bits(std::span<std::byte const> in, std::byte* out);

    std::size_t element_bytes() const { return element_bytes_; }

  private:
    std::size_t element_bytes_;
    std::size_t tile_elements_;
    Kernel const* kernel_;
    std::unique_ptr<std::byte[]> bytes_;   // a tile split by byte, on its way to bits
    std::unique_ptr<std::byte[]> scratch_; // of the recursion over bytes
};

} // namespace thalweg::codec
