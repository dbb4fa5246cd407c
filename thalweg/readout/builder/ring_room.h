// Rule 3 of docs/readout.md: whether the ring has free slots for new packets, and which events make room if it has
// none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/readout/builder/group_options.h"

namespace thalweg::readout {

class RingRoom {
  public:
    explicit RingRoom(GroupContext& context)
        : context_(context), margin_(slots_ahead(context.options.index, context.options.format.block_bytes)) {
        find(0);
    }

    // Returns a position: slots before it may be used.
    std::uint64_t end() const { return end_; }
    // Returns whether the packets of one more block have room.
    bool is_enough(std::uint64_t newest_position) const { return newest_position + margin_ <= end_; }
    bool find(std::uint64_t newest_position) {
        auto& ring = context_.ring;
        end_ = ring.usable_before() + ring.slots();
        if (!is_enough(newest_position) && context_.options.index.when_full == WhenFull::evict) {
            ring.evict_before(std::min(newest_position + margin_ - ring.slots(), ring.watermark()));
            end_ = ring.usable_before() + ring.slots();
        }
        return is_enough(newest_position);
    }

  private:
    GroupContext& context_;
    std::uint64_t margin_;
    std::uint64_t end_ = 0;
};

} // namespace thalweg::readout
