// The fast way of sending: the blocks of a cycle of events lie in the buffer from the beginning, repeated. For each
// block only its header and the heads of its packets are written.
#pragma once

#include <memory>
#include <vector>

#include "thalweg/felix/card_events.h"
#include "thalweg/felix/dma_outlet.h"
#include "thalweg/felix/feed.h"
#include "thalweg/felix/writer_feed.h"

namespace thalweg::felix {

// Returns how many events a cycle of this buffer has; 0: the buffer is too small for the e-links.
std::uint64_t cycle_events(CardOptions const& options, FeedLinks const& links);

class TemplateFeed : public Feed {
  public:
    TemplateFeed(CardOptions const& options, FeedLinks const& links, DmaOutlet& outlet, std::uint64_t events_of_cycle);

    void advance(std::uint64_t end_event) override;
    void tick(std::uint64_t now_ns) override;
    std::uint64_t next_end(std::uint64_t event) const override;
    void finish() override;
    std::vector<LinkTally> tally() const override;

  private:
    // A piece of a head that the end of a block cuts in two.
    struct HeadPart {
        std::uint32_t event;
        std::uint16_t offset;
        std::uint16_t first_byte;
        std::uint16_t bytes;
    };
    struct CycleBlock {
        std::uint32_t link = 0;
        std::uint32_t first_event = 0; // of the heads that lie completely in it; the other events follow one by one
        std::uint32_t last_event = 0;  // the last event with a part in it: the block is full when this event comes
        std::uint32_t heads = 0;
        std::uint32_t first_head = 0; // index into all offsets
        std::uint32_t ends = 0;       // number of packets that end in it
        std::vector<HeadPart> parts;
    };

    // The progress of a link: so many bytes of the packet of `event`.
    struct PacketPlace {
        std::uint32_t event = 0;
        std::uint32_t byte = 0;
    };

    void prepare();
    void describe(std::uint32_t link, std::uint32_t last_event, std::byte const* block, PacketPlace& place);
    bool stamp_until(std::uint64_t end_event);
    void stamp(CycleBlock const& block, std::byte* bytes);
    void stamp_heads(CycleBlock const& block, std::uint64_t event, std::byte* bytes) const;
    std::uint64_t head_word(std::uint64_t event, std::uint32_t link) const;
    std::uint16_t elink_of(std::uint32_t link) const {
        return static_cast<std::uint16_t>(options_.first_elink + links_.first + link);
    }

    CardOptions options_;
    FeedLinks links_;
    CardEvents events_;
    DmaOutlet& outlet_;
    std::uint64_t events_of_cycle_;
    std::uint64_t whole_cycles_end_; // from this event on packets are sent one by one
    std::vector<CycleBlock> blocks_;
    std::vector<std::uint16_t> offsets_;
    std::vector<std::uint64_t> crossings_; // the upper bits of a head, by L1ID
    std::vector<LinkTally> tally_;
    std::size_t next_block_ = 0;    // index in the cycle
    std::uint64_t cycle_event_ = 0; // the first event of the cycle
    std::unique_ptr<WriterFeed> rest_;
};

} // namespace thalweg::felix
