// An LZ4 encoder for bit planes, which looks in two places only: one byte back, for runs, and one plane back, because
// the upper bits of measured data go up and down together. What matches neither is noise, where a general encoder
// searches in vain; so this one is several times as fast and stores about as little.
#pragma once

#include "thalweg/codec/kernel.h"

#include <memory>

namespace thalweg::codec {

// Not thread-safe: it owns scratch memory.
class PlaneLz4 {
  public:
    explicit PlaneLz4(Kernel const& kernel = best_kernel()) : kernel_(&kernel) {}

    // Writes one LZ4 block, at most LZ4_compressBound long, and returns its size. `plane_bytes`: 1 to 65535. 64 bytes
    // before and behind `in` must be readable, and 16 bytes behind the largest result writable.
    std::size_t encode(std::span<std::byte const> in, std::size_t plane_bytes, std::byte* out);

  private:
    Kernel const* kernel_;
    std::unique_ptr<std::uint64_t[]> repeats_; // two bitmaps, one for each distance
    std::size_t repeats_words_ = 0;
};

} // namespace thalweg::codec
