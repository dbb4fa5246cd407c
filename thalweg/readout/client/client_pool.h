// Memory for messages that is used again and again: while events flow, nothing is allocated and no page is touched for
// the first time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/base/memory.h"

namespace thalweg::readout {

class MessagePool {
  public:
    base::AlignedBuffer take(std::size_t size_bytes) {
        // The search starts at the back: the buffer that was given back last is still in the cache.
        auto const found =
            std::find_if(free_.rbegin(), free_.rend(), [&](auto const& buffer) { return buffer.size() >= size_bytes; });
        if (found == free_.rend()) return base::AlignedBuffer(std::bit_ceil(std::max(size_bytes, kLeastBytes)));
        auto buffer = std::move(*found);
        THALWEG_ASSERT(buffer.size() >= size_bytes, "a buffer has room for its message");
        free_.erase(std::next(found).base());
        return buffer;
    }
    void give_back(base::AlignedBuffer buffer) {
        if (buffer.size() == 0) return;
        if (free_.size() == kMostFree) free_.erase(free_.begin());
        free_.push_back(std::move(buffer));
    }

  private:
    static constexpr std::size_t kLeastBytes = 1 << 16;
    static constexpr std::size_t kMostFree = 1024;
    std::vector<base::AlignedBuffer> free_;
};

} // namespace thalweg::readout
