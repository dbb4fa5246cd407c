#pragma once

#include <cstddef>
#include <memory>

namespace thalweg::codec {

// Memory that a codec keeps from page to page.
class Scratch {
  public:
    // What it held before is gone.
    std::byte* of(std::size_t size_bytes) {
        if (size_bytes_ < size_bytes) {
            bytes_ = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
            size_bytes_ = size_bytes;
        }
        return bytes_.get();
    }

  private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_bytes_ = 0;
};

} // namespace thalweg::codec
