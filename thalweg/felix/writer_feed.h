// The general way of sending: packet by packet, with faults, and with timeouts for blocks that fill slowly.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "thalweg/felix/block_writer.h"
#include "thalweg/felix/card_events.h"
#include "thalweg/felix/dma_outlet.h"
#include "thalweg/felix/feed.h"
#include "thalweg/felix/link_books.h"

namespace thalweg::felix {

// The e-links of one buffer, and the progress of each.
struct FeedLinks {
    std::uint32_t buffer = 0;
    std::uint32_t first = 0; // counted from the card's first e-link
    std::uint32_t count = 0;
    std::uint64_t first_event = 0;
    std::vector<std::uint8_t> sequences; // of the next block of each link; empty: all 0
};

class WriterFeed : public Feed {
  public:
    WriterFeed(CardOptions const& options, FeedLinks const& links, DmaOutlet& outlet);

    void advance(std::uint64_t end_event) override;
    void tick(std::uint64_t now_ns) override;
    std::uint64_t next_end(std::uint64_t event) const override { return event; }
    void finish() override;
    std::vector<LinkTally> tally() const override;

  private:
    struct Late {
        std::uint64_t due_event;
        std::uint64_t event;
    };
    struct CardLink {
        CardLink(BlockFormat const& format, std::uint16_t number, BlockWriter::Sink sink, std::uint8_t sequence)
            : elink(number), writer(format, number, std::move(sink), sequence), books(format, number) {}

        std::uint16_t elink;
        BlockWriter writer;
        LinkBooks books;
        std::deque<Late> late;
        std::optional<std::uint64_t> swapped;
        std::uint64_t dead_until_event = 0;
        std::uint64_t waiting_since_ns = 0; // since when the current block waits; 0: it is empty
        std::uint32_t blocks_to_lose = 0;
        bool lap_is_due = false;
    };

    void send(CardLink& link, std::uint64_t event);
    void send_faulty(CardLink& link, std::uint64_t event, std::span<std::byte> packet);
    void send_held(CardLink& link, std::optional<std::uint64_t> swapped, std::uint64_t event);
    void write(CardLink& link, std::uint64_t event);
    void after_packet(CardLink& link);
    void hand_over(CardLink& link, std::span<std::byte const> block);
    void garble(std::byte* block, std::uint16_t elink) const;
    void misbehave(std::uint64_t event);

    CardOptions options_;
    FeedLinks place_;
    CardEvents events_;
    DmaOutlet& outlet_;
    std::deque<CardLink> links_;
    std::vector<std::byte> packet_;
    std::uint64_t next_event_;
    std::uint64_t now_ns_;
    bool is_faulty_;
};

} // namespace thalweg::felix
