// Events as the boards of the second generation (27xx, firmware Scope) send them: endpoint `raw`. All words have 64
// bits and are big endian; bit 63 is the highest one.
//   first word: format (4 bits), 28 bits that depend on it, number of words of the event (32)
//   format 1:   3 header words. First: 3 bits, board failure (1), trigger number (24). Second: flags (13), overlapping
//               samples (3), time tag (48). Third: a bit for each channel. Then, four samples of each of these channels
//               at a time, the first sample in the lowest bits.
//   format 3:   event at the start (kind 0, 4 bits) or the stop (kind 2) of a run. The second word of the latter has
//               the time since the start in its lowest 48 bits, and the third the dead time in its lowest 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::source::caen {

struct RawEvent {
    enum class Kind : std::uint8_t { data, start, stop, unknown };
    Kind kind = Kind::unknown;

    std::uint32_t trigger_id = 0;
    std::uint32_t flags = 0;
    std::uint64_t time_tag = 0;
    std::uint64_t channels = 0;      // a bit for each
    std::size_t samples = 0;         // of each channel
    std::span<std::byte const> data; // the samples

    std::uint64_t real_time = 0, dead_time = 0; // of a stop, in ticks
};

// The events in a block of bytes. Each one is whole.
class RawEvents {
  public:
    explicit RawEvents(std::span<std::byte const> bytes) : rest_(bytes) {}

    // Returns false if there is no other whole event. Data whose samples cannot be shared out among its channels are
    // of an unknown kind.
    bool next(RawEvent& event);
    // After the last event, returns the bytes that are no whole event.
    std::size_t left_over_bytes() const { return rest_.size(); }

  private:
    std::span<std::byte const> rest_;
};

// Copies the samples of an event to as many places as it has channels, in their order.
void copy_samples(RawEvent const& event, std::span<std::byte* const> to);

} // namespace thalweg::source::caen
