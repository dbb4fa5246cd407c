// The memory in which a handler on the same host puts its answers. The client reads them where they are, and tells the
// handler when it needs them no more, in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/passed_memory.h"

namespace thalweg::readout {

class HandlerMemory {
  public:
    explicit HandlerMemory(transport::Mapping mapping) : mapping_(std::move(mapping)) {}

    bool holds(InMemory const& place) const {
        return place.offset <= mapping_.size() && place.bytes <= mapping_.size() - place.offset;
    }
    std::span<std::byte const> bytes(InMemory const& place) const {
        return {mapping_.data() + place.offset, place.bytes};
    }
    // Returns the number of the answer that came.
    std::uint64_t take() {
        needed_.push_back(true);
        return released_ + needed_.size() - 1;
    }
    void release(std::uint64_t number) {
        THALWEG_ASSERT(number >= released_ && needed_.at(number - released_), "an answer in memory is released once");
        needed_[number - released_] = false;
        for (; !needed_.empty() && !needed_.front(); ++released_) needed_.pop_front();
    }
    // All answers before this one are not needed any more.
    std::uint64_t released() const { return released_; }

  private:
    transport::Mapping mapping_;
    std::deque<bool> needed_; // answers from `released_` on
    std::uint64_t released_ = 0;
};

// One answer in this memory. It keeps the memory, also when the connection is over.
class AnswerInMemory {
  public:
    AnswerInMemory() = default;
    AnswerInMemory(std::shared_ptr<HandlerMemory> memory, InMemory const& place)
        : memory_(std::move(memory)), number_(memory_->take()), bytes_(memory_->bytes(place)) {}
    AnswerInMemory(AnswerInMemory&& other) noexcept { swap(other); }
    AnswerInMemory& operator=(AnswerInMemory&& other) noexcept {
        AnswerInMemory old(std::move(other));
        swap(old);
        return *this;
    }
    ~AnswerInMemory() {
        if (memory_) memory_->release(number_);
    }

    explicit operator bool() const { return memory_ != nullptr; }
    std::span<std::byte const> bytes() const { return bytes_; }

  private:
    void swap(AnswerInMemory& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(number_, other.number_);
        std::swap(bytes_, other.bytes_);
    }

    std::shared_ptr<HandlerMemory> memory_;
    std::uint64_t number_ = 0;
    std::span<std::byte const> bytes_;
};

} // namespace thalweg::readout
