// Bytes that are appended, and never cleared first: responses are as large as what they copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace thalweg::readout {

class ByteBuffer {
  public:
    std::byte* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::span<std::byte const> bytes() const { return {data_.get(), size_}; }
    void clear() { size_ = 0; }

    // Where the next `count` bytes go; say with `grow` how many they were.
    std::byte* room(std::size_t count) {
        if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
        return data_.get() + size_;
    }
    void grow(std::size_t count) { size_ += count; }

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

// Buffers of one thread that have been used: the last one comes back first, while caches still hold it.
class BufferPool {
  public:
    ByteBuffer take() {
        if (buffers_.empty()) return {};
        auto buffer = std::move(buffers_.back());
        buffers_.pop_back();
        bytes_ -= buffer.capacity();
        least_ = std::min(least_, buffers_.size());
        return buffer;
    }
    // Frees what has lain idle since the last call. Bytes.
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
    static constexpr std::size_t kMaxBytes = 64 << 20; // that lie idle
    std::vector<ByteBuffer> buffers_;
    std::size_t bytes_ = 0;
    std::size_t least_ = 0; // buffers that were not needed since the last trim(): the first ones
};

} // namespace thalweg::readout
