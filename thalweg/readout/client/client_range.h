// A range of events on its way: what has come of it, from which handler, and what is still to be asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_pool.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/readout/seal.h"

namespace thalweg::readout {

// A range that is ours, and what shows it.
struct OwnRange {
    RangeId id;
    Key key = {};
};

// What one handler has of one event.
struct Piece {
    std::byte const* data = nullptr; // its fragments, in a buffer of the range
    std::uint32_t bytes = 0;
    std::uint16_t fragments = 0;
    EventState state = EventState::not_yet;
    bool lost = false; // the handler cannot, or will not, say any more
};
static_assert(sizeof(Piece) == 16);

class Range {
  public:
    // What has come from one handler.
    struct Part {
        std::uint64_t next = 0;             // the first event still to be asked for
        std::uint32_t tag = 0;              // of the request under way; 0: none
        std::uint32_t failures = 0;         // requests that were not answered as they should
        std::uint64_t waiting_since_ns = 0; // it has not closed `next` since then; 0: it does not say so
        bool begun_anew = false;            // since we had the range: what it does not know went with the one before
    };

    void begin(RangeId const& id, Seal const& seal, std::size_t handlers);
    Seal const& seal() const { return seal_; }
    RangeId const& id() const { return id_; }
    std::uint64_t end() const { return id_.first + id_.count; }
    Part& part(std::size_t handler) { return parts_[handler]; }
    bool wants(std::size_t handler) const { return parts_[handler].tag == 0 && parts_[handler].next < end(); }
    bool is_whole() const;

    void asked(std::uint64_t now_ns) { requested_ns_ = requested_ns_ == 0 ? now_ns : requested_ns_; }
    // Takes in an answer up to the first event that is not closed yet; `buffer` holds it. Returns how many events were
    // taken. Throws base::DataError where it is no answer to what was asked; nothing is taken then.
    std::uint64_t accept(std::size_t handler, std::span<std::byte const> body, base::AlignedBuffer& buffer,
                         MessagePool& pool, std::uint64_t now_ns);
    // The handler knows nothing of it.
    void has_nothing(std::size_t handler) { parts_[handler].next = end(); }
    // Nothing more of this handler before event `before`.
    void lose(std::size_t handler, std::uint64_t before);

    Piece const& piece(std::size_t handler, std::uint64_t index) const { return pieces_[handler * id_.count + index]; }
    std::uint64_t latency_ns(std::uint64_t index) const { return arrived_ns_[index] - requested_ns_; }
    void give_back(MessagePool& pool);

    std::uint64_t handed_on = 0; // events of it
    bool left_behind = false;    // given by another handler than the first

  private:
    RangeId id_;
    Seal seal_ = {};
    std::uint64_t requested_ns_ = 0;
    std::vector<Part> parts_;               // by handler
    std::vector<Piece> pieces_;             // by handler, then by event
    std::vector<std::uint64_t> arrived_ns_; // by event: when its last piece came
    std::vector<base::AlignedBuffer> buffers_;
};

} // namespace thalweg::readout
