// A DMA buffer as the emulated card uses it: it waits while the buffer is full, and can show a wrong pointer for a
// while.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/dma_buffer.h"

namespace thalweg::felix {

class DmaOutlet {
  public:
    // While `stop` is set, the card does not wait for a reader that does not read.
    DmaOutlet(std::string const& name, BlockFormat const& format, std::uint64_t buffer_bytes,
              std::atomic<bool> const& stop)
        : writer_(name, format, buffer_bytes), stop_(stop) {}

    DmaWriter& writer() { return writer_; }
    DmaWriter const& writer() const { return writer_; }

    // Sleeps until there is room. 0 blocks: the card must stop, and no process reads.
    DmaWriter::FreeBlocks wait_for_room();

    // Shows `word` to the reader instead of the write pointer for so long.
    void stick(std::uint64_t word, std::uint64_t duration_ns);
    // Ends the wrong pointer when its time is over. Call it regularly.
    void tick(std::uint64_t now_ns);

    std::uint64_t stall_ns() const { return stall_ns_.get(); }

  private:
    DmaWriter writer_;
    std::atomic<bool> const& stop_;
    base::SharedNumber stall_ns_;
    std::uint64_t stuck_until_ns_ = 0;
    bool gave_up_ = false;
};

} // namespace thalweg::felix
