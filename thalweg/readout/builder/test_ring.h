// A ring that a test fills: it does what a builder would do, without packets.
#pragma once

#include <cstring>
#include <vector>

#include "thalweg/readout/builder/event_ring.h"

namespace thalweg::readout {

class TestRing {
  public:
    explicit TestRing(std::uint64_t first_event, std::uint64_t slots = 1024, std::uint32_t fragment_bytes = 512,
                      std::uint32_t source_id = 1)
        : ring(slots, fragment_bytes), source_id_(source_id) {
        jump(first_event);
    }

    void jump(std::uint64_t event) {
        event_ = event;
        ring.begin_stretch(event, position_);
    }
    // Adds the next `count` events, closed. Payload bytes are those of byte_of().
    TestRing& add(std::uint64_t count, std::uint32_t payload_bytes = 336, std::uint32_t status = 0) {
        for (std::uint64_t i = 0; i < count; ++i) {
            auto* const header = ring.slot(position_++);
            *header = {.header_bytes = sizeof(FragmentHeader), .status = status, .event = event_, .run = 7};
            header->length_bytes = static_cast<std::uint32_t>(sizeof(FragmentHeader)) + payload_bytes;
            header->source_id = source_id_;
            ring.note_closed(position_ - 1, true);
            std::memset(static_cast<void*>(header + 1), byte_of(event_++), payload_bytes);
        }
        return publish();
    }
    // Closes the next `count` events without a packet.
    TestRing& skip(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i, ++event_) {
            ring.note_closed(position_, false);
            ring.slot(position_++)->event = 0;
        }
        return publish();
    }
    TestRing& publish() {
        ring.publish(position_, event_);
        return *this;
    }
    void die() { ring.publish(position_, EventRing::kNotAwaited); }
    std::uint64_t next_event() const { return event_; }
    // Returns whether a builder with when_full = busy would go on.
    bool has_room() const { return position_ < ring.usable_before() + ring.slots(); }

    static int byte_of(std::uint64_t event) { return static_cast<int>(event * 7 % 251); }

    EventRing ring;

  private:
    std::uint32_t source_id_;
    std::uint64_t position_ = 0;
    std::uint64_t event_ = 0;
};

} // namespace thalweg::readout
