// An LZ4 encoder that looks for nothing but runs of one byte. Bit planes of measured data are either runs or noise, and
// noise has no matches worth the search, so that this is several times as fast as a general encoder and stores as little.
#pragma once

#include "thalweg/codec/kernel.h"

#include <memory>

namespace thalweg::codec {

class RunLz4 {
  public:
    explicit RunLz4(Kernel const& kernel = best_kernel()) : kernel_(&kernel) {}

    // Writes one LZ4 block, at most LZ4_compressBound long, and returns its size. 64 bytes before and behind `in` must be
    // readable, and 16 bytes behind the largest result writable.
    std::size_t encode(std::span<std::byte const> in, std::byte* out);

  private:
    Kernel const* kernel_;
    std::unique_ptr<std::uint64_t[]> repeats_; // bit i: byte i is as the one before
    std::size_t repeats_words_ = 0;
};

} // namespace thalweg::codec
