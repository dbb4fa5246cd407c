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
#include "thalweg/readout/client/handler_memory.h"

namespace thalweg::readout {

// What holds a message: a buffer from the pool, or memory that the handler has filled.
struct MessageMemory {
    base::AlignedBuffer buffer;
    AnswerInMemory answer;

    std::byte const* data() const { return answer ? answer.bytes().data() : buffer.data(); }
};

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
    void give_back(MessageMemory memory) { give_back(std::move(memory.buffer)); }
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
