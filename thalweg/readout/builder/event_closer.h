// Rule 2 of docs/readout.md: when an event is finished, and what is then said of it. Events are closed in their order.
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/base/shared_number.h"
#include "thalweg/readout/builder/fragment_writer.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/group_streams.h"
#include "thalweg/readout/builder/open_stretch.h"

namespace thalweg::readout {

// How long the others have been waiting for an event without packets, which has no age of its own.
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

    // Position: everything before it is closed.
    std::uint64_t open() const { return open_; }
    // What lies between never was.
    void skip_to(std::uint64_t position) { open_ = std::max(open_, position); }
    // Closes what may be closed of a stretch. `passed`: all live streams have passed what lies before this position;
    // `finishing`: no more packets will come.
    void close(OpenStretch& stretch, std::uint64_t passed, bool finishing);
    // Shows readers what is closed. `oldest`: the stretch in which open() lies.
    void publish(OpenStretch const& oldest);
    // The group holds up nobody.
    void publish_nobody() { context_.ring.publish(open_, EventRing::kNobody); }

    std::uint64_t complete() const { return complete_.get(); }
    std::uint64_t incomplete() const { return incomplete_.get(); }
    std::uint64_t absent() const { return absent_.get(); }
    std::uint64_t timed_out() const { return timed_out_.get(); }
    std::uint64_t open_events() const { return open_events_.get(); }

  private:
    // Why the event at a position may be closed; nothing: it may not yet.
    std::optional<std::uint32_t> reason_to_close(FragmentHeader const* fragment, std::uint64_t position,
                                                 std::uint64_t passed, bool finishing);
    void finish(FragmentHeader* fragment, std::uint32_t status);

    GroupContext& context_;
    GroupStreams const& streams_;
    FragmentWriter& writer_;
    std::uint64_t open_ = 0;
    std::uint64_t closed_event_ = 0; // as published
    HoleWait hole_;
    base::SharedNumber complete_, incomplete_, absent_, timed_out_, open_events_;
};

} // namespace thalweg::readout
