// Limits the bytes that are requested and not received, over all handlers, to what the network switch can buffer. With
// more, answers would collide there and be lost.
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

class Credit {
  public:
    explicit Credit(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

    bool reserve(std::uint64_t bytes) {
        if (outstanding_bytes_ + bytes > limit_bytes_) return false;
        outstanding_bytes_ += bytes;
        most_bytes_ = std::max(most_bytes_, outstanding_bytes_);
        return true;
    }
    void release(std::uint64_t bytes) {
        THALWEG_ASSERT(bytes <= outstanding_bytes_, "only reserved credit is released");
        outstanding_bytes_ -= bytes;
    }

    // More may be outstanding then than the new limit allows; no more is reserved until it has come.
    void set_limit(std::uint64_t limit_bytes) { limit_bytes_ = limit_bytes; }
    std::uint64_t limit_bytes() const { return limit_bytes_; }
    std::uint64_t outstanding_bytes() const { return outstanding_bytes_; }
    std::uint64_t most_bytes() const { return most_bytes_; }

  private:
    std::uint64_t limit_bytes_;
    std::uint64_t outstanding_bytes_ = 0;
    std::uint64_t most_bytes_ = 0;
};

} // namespace thalweg::readout
