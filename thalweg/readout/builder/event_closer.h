// Rule 2 of docs/readout.md: when an event is closed, and with which status.
//
// The watermark of a group is a position: every event before it is closed. It is kept here, and published in the ring
// for readers (EventRing::watermark, and closed_event as an event number). One call of close() looks at the events from
// the watermark on, in their order, and stops at the first one that may not be closed yet:
//
//   the event at the watermark                     is closed as
//   ---------------------------------------------  ------------------------------------------------------
//   all its enabled streams have come              complete
//   all live streams have passed it                complete, incomplete, or absent if no packet came
//   it is older than close_after, or the run ends  incomplete and timed out, or absent if no packet came
//   otherwise                                      it stays open, and so do all events behind it
//
// Invariants:
//   1. The watermark only rises: close() by one event at a time, skip_to() over events that never existed.
//   2. An event is closed once, and never altered afterwards (FragmentWriter::finish).
//   3. Of the stretches of a group only the oldest one has open events at the watermark (OpenStretches::close).
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/base/shared_number.h"
#include "thalweg/readout/builder/fragment_writer.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/group_streams.h"
#include "thalweg/readout/builder/open_stretch.h"

namespace thalweg::readout {

// Measures how long later events have waited for an event without packets, which has no age of its own.
class HoleWait {
  public:
    bool is_over(std::uint64_t position, std::uint64_t now_ns, std::uint64_t patience_ns);

  private:
    std::uint64_t position_ = ~0ull;
    std::uint64_t since_ns_ = 0;
};

class EventCloser {
  public:
    EventCloser(GroupContext& context, GroupStreams const& streams, FragmentWriter& writer)
        : context_(context), streams_(streams), writer_(writer) {}

    // Returns a position: every event before it is closed.
    std::uint64_t watermark() const { return watermark_; }
    // Moves the watermark over events that never existed.
    void skip_to(std::uint64_t position) { watermark_ = std::max(watermark_, position); }
    // Closes the events of a stretch that may be closed. `passed`: every live stream has passed the events before this
    // position. `finishing`: no more packets will come.
    void close(OpenStretch& stretch, std::uint64_t passed, bool finishing);
    // Shows the watermark to readers. `oldest` is the stretch in which it lies.
    void publish(OpenStretch const& oldest);
    // Tells readers not to wait for this group.
    void publish_not_awaited() { context_.ring.publish(watermark_, EventRing::kNotAwaited); }

    std::uint64_t complete() const { return complete_.get(); }
    std::uint64_t incomplete() const { return incomplete_.get(); }
    std::uint64_t absent() const { return absent_.get(); }
    std::uint64_t timed_out() const { return timed_out_.get(); }
    std::uint64_t open_events() const { return open_events_.get(); }

  private:
    // Returns the status with which the event at a position may be closed, or nothing if it must stay open.
    std::optional<std::uint32_t> reason_to_close(FragmentHeader const* fragment, std::uint64_t position,
                                                 std::uint64_t passed, bool finishing);
    void finish(FragmentHeader* fragment, std::uint32_t status);

    GroupContext& context_;
    GroupStreams const& streams_;
    FragmentWriter& writer_;
    std::uint64_t watermark_ = 0;
    std::uint64_t closed_event_ = 0; // as published
    HoleWait hole_;
    base::SharedNumber complete_, incomplete_, absent_, timed_out_, open_events_;
};

} // namespace thalweg::readout
