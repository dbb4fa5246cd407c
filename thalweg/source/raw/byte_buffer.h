// Bytes of a stream that are not used yet.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "thalweg/base/assert.h"

namespace thalweg::source::raw {

class ByteBuffer {
  public:
    explicit ByteBuffer(std::size_t capacity) : capacity_(capacity), data_(make(capacity)) {}

    std::span<std::byte const> bytes() const { return {data_.get() + begin_, end_ - begin_}; }
    std::size_t size() const { return end_ - begin_; }
    std::size_t capacity() const { return capacity_; }

    // Bytes that were used stay where they are until the next call of room().
    void use(std::size_t count) {
        THALWEG_ASSERT(count <= size(), "no more is used than there is");
        begin_ += count;
    }
    void clear() { begin_ = end_ = 0; }

    // Returns where the next bytes go: there is always room for some.
    std::span<std::byte> room() {
        if (begin_ > 0) {
            std::memmove(data_.get(), data_.get() + begin_, size());
            end_ -= begin_;
            begin_ = 0;
        }
        if (end_ == capacity_) grow();
        return {data_.get() + end_, capacity_ - end_};
    }
    void add(std::size_t count) { end_ += count; }

  private:
    static std::unique_ptr<std::byte[]> make(std::size_t bytes) {
        return std::make_unique_for_overwrite<std::byte[]>(bytes);
    }
    void grow() {
        auto larger = make(2 * capacity_);
        std::memcpy(larger.get(), data_.get(), end_);
        data_ = std::move(larger);
        capacity_ *= 2;
    }

    std::size_t capacity_;
    std::unique_ptr<std::byte[]> data_;
    std::size_t begin_ = 0, end_ = 0;
};

} // namespace thalweg::source::raw
