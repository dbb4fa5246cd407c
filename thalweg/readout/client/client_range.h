// A range of events on its way: what has arrived from which handler, and what must still be requested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_pool.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/readout/seal.h"

namespace thalweg::readout {

// A range that this client owns, with the key that proves it.
struct OwnRange {
    RangeId id;
    RangeKey key = {};
};

// The part of one event that one handler has.
struct EventPart {
    std::byte const* data = nullptr; // its fragments, in a memory of the range
    std::uint32_t bytes = 0;
    std::uint16_t fragments = 0;
    EventState state = EventState::not_yet;
    bool lost = false; // the handler cannot, or refuses to, say more
};
static_assert(sizeof(EventPart) == 16);

class ClientRange {
  public:
    // The progress of one handler.
    struct HandlerProgress {
        std::uint64_t next = 0;             // the first event that was not requested yet
        std::uint32_t tag = 0;              // tag of the current request; 0: none
        std::uint32_t failures = 0;         // requests without a usable answer
        std::uint64_t waiting_since_ns = 0; // since then it has not closed `next`; 0: it does not report so
        bool is_behind_end = false;         // its run was over before `next`
        std::uint64_t ask_again_ns = 0;     // if so: when it is asked again, because it may have begun anew
        // It was restarted after the client got the range: events that it does not know are lost.
        bool begun_anew = false;
    };

    void begin(RangeId const& id, RangeSeal const& seal, std::size_t handlers);
    RangeSeal const& seal() const { return seal_; }
    RangeId const& id() const { return id_; }
    std::uint64_t end() const { return id_.first + id_.count; }
    HandlerProgress& part(std::size_t handler) { return parts_[handler]; }
    bool wants(std::size_t handler) const { return parts_[handler].tag == 0 && parts_[handler].next < end(); }
    bool is_whole() const { return whole_before() >= end(); }
    // Returns the first event for which an answer is missing.
    std::uint64_t whole_before() const;

    void asked(std::uint64_t now_ns) { requested_ns_ = requested_ns_ == 0 ? now_ns : requested_ns_; }
    // Takes an answer up to the first event that is not closed yet; `memory` holds it. Returns the number of events
    // that were taken. Throws base::DataError, and takes nothing, if the answer does not fit the request.
    std::uint64_t accept(std::size_t handler, std::span<std::byte const> body, MessageMemory& memory, MessagePool& pool,
                         std::uint64_t now_ns);
    // Notes that the handler knows nothing of the range.
    void has_nothing(std::size_t handler) { parts_[handler].next = end(); }
    // Gives up all events before `before` that this handler has not sent.
    void lose(std::size_t handler, std::uint64_t before);
    // The handler was restarted, and is asked for the rest.
    void begin_anew(std::size_t handler);
    // Returns the size of the answers that it holds.
    std::uint64_t held_bytes() const { return held_bytes_; }

    EventPart const& event_part(std::size_t handler, std::uint64_t index) const {
        return pieces_[handler * id_.count + index];
    }
    std::uint64_t latency_ns(std::uint64_t index) const { return arrived_ns_[index] - requested_ns_; }
    void give_back(MessagePool& pool);

    std::uint64_t handed_on = 0; // number of its events
    std::uint64_t told = 0;      // number of its events for which EventSink::end_of_range was called
    bool left_behind = false;    // another handler than the first one gave it
    bool stops_at_end = false;   // events behind the end of a handler's run are not taken as absent

  private:
    RangeId id_;
    RangeSeal seal_ = {};
    std::uint64_t requested_ns_ = 0;
    std::vector<HandlerProgress> parts_;    // one for each handler
    std::vector<EventPart> pieces_;         // by handler, then by event
    std::vector<std::uint64_t> arrived_ns_; // for each event, when its last part arrived
    std::vector<MessageMemory> memories_;
    std::uint64_t held_bytes_ = 0;
};

} // namespace thalweg::readout
