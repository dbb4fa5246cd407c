// Memory that is kept from one piece of work to the next.
#pragma once

#include <cstddef>
#include <memory>

#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"

namespace thalweg::base {

class Scratch {
  public:
    // What it held before is gone.
    std::byte* of(std::size_t size_bytes) {
        if (size_bytes <= capacity_) return data_;
        large_ = {};
        small_.reset();
        if (size_bytes >= kLargeBytes) {
            large_ = AlignedBuffer(size_bytes);
            data_ = large_.data();
        } else {
            small_ = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
            data_ = small_.get();
        }
        capacity_ = size_bytes;
        return data_;
    }
    std::size_t capacity() const { return capacity_; }

  private:
    // The heap would keep so much for the thread that had it, long after it is free.
    static constexpr std::size_t kLargeBytes = 2 * kMiB;

    std::unique_ptr<std::byte[]> small_;
    AlignedBuffer large_;
    std::byte* data_ = nullptr;
    std::size_t capacity_ = 0;
};

} // namespace thalweg::base
