// Writes small pieces one behind the other, in large blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::ours {

class Appender {
  public:
    Appender(storage::Storage& file, std::uint64_t offset) : file_(file), offset_(offset) {}

    // Returns the offset at which the bytes will lie.
    std::uint64_t append(std::span<std::byte const> bytes);
    // Writes what is waiting.
    void flush();

    std::uint64_t end() const { return offset_ + waiting_.size(); }
    bool is_flushed() const { return waiting_.empty(); }

  private:
    storage::Storage& file_;
    std::uint64_t offset_; // of the first waiting byte
    std::vector<std::byte> waiting_;
};

} // namespace thalweg::format::hdf5::ours
