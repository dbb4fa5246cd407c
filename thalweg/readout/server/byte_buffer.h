// A growing buffer that is not cleared first, because its bytes are written right away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

class ByteBuffer {
  public:
    std::byte* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::span<std::byte const> bytes() const { return {data_.get(), size_}; }
    void clear() { size_ = 0; }

    // Returns room for the next `count` bytes. Call grow() with the number of bytes that were written.
    std::byte* room(std::size_t count) {
        if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
        return data_.get() + size_;
    }
    void grow(std::size_t count) {
        size_ += count;
        THALWEG_ASSERT(size_ <= capacity_, "bytes are written where there is room");
    }

    void append(void const* bytes, std::size_t count) {
        std::memcpy(room(count), bytes, count);
        grow(count);
    }
    template <typename T> void append(T const& value) { append(&value, sizeof value); }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        std::unique_ptr<std::byte[]> larger(new std::byte[capacity]);
        if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }

  private:
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// The unused buffers of one thread. The last one returned is taken first, because caches may still hold it.
class BufferPool {
  public:
    ByteBuffer take() {
        if (buffers_.empty()) return {};
        auto buffer = std::move(buffers_.back());
        buffers_.pop_back();
        THALWEG_ASSERT(bytes_ >= buffer.capacity(), "a pool counts the buffers that it has");
        bytes_ -= buffer.capacity();
        least_ = std::min(least_, buffers_.size());
        return buffer;
    }
    // Frees the buffers that were not needed since the last call. Returns the freed bytes.
    std::size_t trim() {
        std::size_t freed = 0;
        for (std::size_t i = 0; i < least_; ++i) freed += buffers_[i].capacity();
        buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(least_));
        bytes_ -= freed;
        least_ = buffers_.size();
        return freed;
    }
    void give(ByteBuffer&& buffer) {
        if (bytes_ + buffer.capacity() > kMaxBytes) return;
        bytes_ += buffer.capacity();
        buffer.clear();
        buffers_.push_back(std::move(buffer));
    }
    static constexpr std::size_t kSmallBytes = 4096;

  private:
    static constexpr std::size_t kMaxBytes = 64 << 20; // limit of the unused buffers
    std::vector<ByteBuffer> buffers_;
    std::size_t bytes_ = 0;
    std::size_t least_ = 0; // the first ones were not needed since the last trim(): so many buffers
};

} // namespace thalweg::readout
