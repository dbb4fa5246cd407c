// Writes in flight, and the buffers that they are from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

// Each buffer is used again when its write has ended. Slots whose buffer is not asked for stand for writes from other
// memory.
class WriteBuffers {
  public:
    explicit WriteBuffers(storage::Storage& file);

    void wait_for_slot();
    // Room for kWriteBytes from anywhere in its first block on; good until `submit`.
    std::byte* buffer();
    // Writes whole blocks, from the buffer or from memory that stays as it is until `finish`. There is a slot.
    void submit(std::uint64_t offset, std::span<std::byte const> bytes);
    // Waits until all is written.
    void finish();

  private:
    void reap();

    storage::Storage& file_;
    base::AlignedBuffer buffers_;                                 // of all slots
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places_; // offset and bytes of what each slot writes
    std::vector<std::size_t> free_;
    std::unique_ptr<storage::WriteQueue> queue_; // last: it waits for what is in flight before the buffers go
};

} // namespace thalweg::checkpoint
