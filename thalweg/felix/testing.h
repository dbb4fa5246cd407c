// A reader of a card's blocks for tests. It is written to be clear, and shares no code with the decoder.
#pragma once

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include "thalweg/felix/block_pieces.h"
#include "thalweg/felix/card.h"
#include "thalweg/felix/card_events.h"
#include "thalweg/felix/dma_buffer.h"

namespace thalweg::felix::testing {

using Bytes = std::vector<std::byte>;

struct Got {
    Bytes bytes;
    std::uint32_t flags;
    bool operator==(Got const&) const = default;
};

// The packets that a correct reader makes of the blocks of one e-link.
struct LinkReader {
    std::vector<Got> packets;
    std::uint64_t blocks = 0;
    std::uint64_t bad_blocks = 0;
    std::uint64_t lost_blocks = 0;
    std::uint64_t dropped = 0;
    std::optional<Bytes> open;
    int next_sequence = -1;

    void read(BlockFormat const& format, std::byte const* block) {
        auto const sequence = BlockHeader::parse(block).sequence;
        ++blocks;
        if (next_sequence >= 0 && sequence != next_sequence) {
            lost_blocks += (sequence + 32 - static_cast<unsigned>(next_sequence)) % 32;
            drop();
        }
        next_sequence = (sequence + 1) % 32;
        auto const pieces = pieces_of(format, block);
        if (!pieces) {
            ++bad_blocks;
            return drop();
        }
        for (auto const& piece : *pieces) {
            if (!piece.carries_data()) continue;
            Bytes const bytes(block + piece.begin, block + piece.begin + piece.size_bytes);
            if (piece.begins_packet()) drop();
            if (piece.begins_packet() || (piece.is_cut() && !open)) open.emplace();
            if (!open) {
                ++dropped;
                continue;
            }
            open->insert(open->end(), bytes.begin(), bytes.end());
            if (!piece.ends_packet()) continue;
            packets.push_back({*open, piece.trailer.flags()});
            open.reset();
        }
    }
    void drop() {
        dropped += open.has_value();
        open.reset();
    }
};

// Reads a card's buffers until it has stopped.
struct CardReader {
    explicit CardReader(CardOptions const& options) {
        for (std::uint32_t buffer = 0; buffer < options.buffers; ++buffer) {
            buffers.push_back(DmaReader::attach(dma_name(options.name, buffer)));
        }
        thread = std::thread([this] { read(); });
    }
    ~CardReader() {
        if (thread.joinable()) thread.join();
    }
    void read() {
        std::vector<std::uint64_t> cursors(buffers.size());
        for (bool is_last = false; !is_last;) {
            is_last = std::ranges::all_of(buffers, &DmaReader::stopped);
            std::uint64_t blocks = 0;
            for (std::size_t buffer = 0; buffer < buffers.size(); ++buffer)
                blocks += read(buffers[buffer], cursors[buffer]);
            if (blocks == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        for (auto const& buffer : buffers) bad_pointers += buffer.bad_pointers();
    }
    std::uint64_t read(DmaReader& buffer, std::uint64_t& cursor) {
        auto const begin = cursor;
        for (auto const end = buffer.published(cursor); cursor < end; ++cursor) {
            auto const* const block = buffer.block(cursor);
            links[BlockHeader::parse(block).elink].read(buffer.format(), block);
        }
        buffer.release(cursor);
        return cursor - begin;
    }

    std::vector<DmaReader> buffers;
    std::map<std::uint16_t, LinkReader> links;
    std::uint64_t bad_pointers = 0;
    std::thread thread;
};

inline CardOptions some_options() {
    static int count = 0;
    CardOptions options;
    options.name = fmt::format("test-{}-{}", ::getpid(), count++);
    options.elinks = 5;
    options.buffer_bytes = 1 << 20;
    options.events = 5000;
    return options;
}

struct Ran {
    std::map<std::uint16_t, LinkReader> links;
    std::vector<LinkTally> tally;
    std::uint64_t bad_pointers = 0;
};

inline Ran run(CardOptions const& options) {
    Card card(options);
    CardReader reader(options);
    card.run();
    reader.thread.join();
    EXPECT_EQ(card.events_sent(), options.events);
    EXPECT_EQ(card.backlog_bytes(), 0u);
    return {std::move(reader.links), card.tally(), reader.bad_pointers};
}

inline void expect_all(CardOptions const& options, Ran const& ran) {
    CardEvents const events(options);
    Bytes room(options.sizes.max_bytes);
    ASSERT_EQ(ran.links.size(), options.elinks);
    ASSERT_EQ(ran.tally.size(), options.elinks);
    for (auto const& tally : ran.tally) {
        auto const& link = ran.links.at(tally.elink);
        ASSERT_EQ(link.packets.size(), options.events);
        EXPECT_EQ(tally.events, options.events);
        EXPECT_EQ(tally.packets, options.events);
        EXPECT_EQ(tally.blocks, link.blocks);
        EXPECT_EQ(link.lost_blocks + link.bad_blocks + link.dropped, 0u);
        for (std::uint64_t event = 0; event < options.events; ++event) {
            auto const expected = events.packet_of(tally.elink, event, room);
            auto const& packet = link.packets[event];
            ASSERT_TRUE(is_intact(packet.bytes, options.l1id_offset, tally.elink)) << tally.elink << " " << event;
            ASSERT_TRUE(std::ranges::equal(packet.bytes, expected)) << tally.elink << " " << event;
            ASSERT_EQ(packet.flags, 0u);
        }
    }
}

} // namespace thalweg::felix::testing
