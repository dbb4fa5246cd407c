// Fills one DMA buffer of an emulated card with the packets of its e-links.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/felix/card.h"

namespace thalweg::felix {

class Feed {
  public:
    virtual ~Feed() = default;

    // Sends all events below `end_event` that fill blocks. Waits while the buffer is full.
    virtual void advance(std::uint64_t end_event) = 0;
    // Sends blocks that have waited too long. Call it regularly.
    virtual void tick(std::uint64_t now_ns) = 0;
    // Returns the first event, from `event` on, before which this feed can end.
    virtual std::uint64_t next_end(std::uint64_t event) const = 0;
    // Sends partial blocks and delayed packets. Call it once.
    virtual void finish() = 0;
    virtual std::vector<LinkTally> tally() const = 0;
};

} // namespace thalweg::felix
