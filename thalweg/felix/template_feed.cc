#include "thalweg/felix/template_feed.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::felix {
namespace {

constexpr std::uint64_t kMostCycleBlocks = 4096; // so that their descriptions stay in the cache
constexpr std::uint64_t kBlocksAtOnce = 32;      // published at once
constexpr std::uint32_t kCrossingCycle = 891;    // bunch crossings repeat after so many L1IDs

// Returns a cycle that fits the buffer a whole number of times, so that every block finds its template in each lap.
std::uint64_t cycle_blocks(std::uint64_t block_count) {
    auto blocks = std::min(block_count, kMostCycleBlocks);
    while (block_count % blocks != 0) --blocks;
    return blocks;
}

// Writes events of all links while `may_go_on(event)`, which is called before each event, returns true.
template <typename MayGoOn>
void write_events(CardOptions const& options, std::deque<BlockWriter>& writers, std::uint32_t first_elink,
                  MayGoOn may_go_on) {
    CardEvents const events(options);
    std::vector<std::byte> packet(options.sizes.max_bytes);
    for (std::uint64_t event = 0; may_go_on(event); ++event) {
        auto elink = static_cast<std::uint16_t>(first_elink);
        for (auto& writer : writers) writer.write(events.packet_of(elink++, event, packet));
    }
}

std::uint64_t events_in(CardOptions const& options, FeedLinks const& links, std::uint64_t blocks) {
    std::deque<BlockWriter> writers;
    for (std::uint32_t link = 0; link < links.count; ++link) writers.emplace_back(options.format, 0, [](auto) {});
    auto const step = CardEvents(options).size_cycle();
    std::uint64_t fit = 0;
    write_events(options, writers, options.first_elink + links.first, [&](std::uint64_t event) {
        std::uint64_t used = 0;
        for (auto const& writer : writers) used += writer.blocks() + (writer.is_empty() ? 0 : 1);
        if (used <= blocks && event % step == 0) fit = event;
        return used <= blocks;
    });
    return fit;
}

} // namespace

std::uint64_t cycle_events(CardOptions const& options, FeedLinks const& links) {
    return events_in(options, links, cycle_blocks(options.buffer_bytes / options.format.block_bytes));
}

TemplateFeed::TemplateFeed(CardOptions const& options, FeedLinks const& links, DmaOutlet& outlet,
                           std::uint64_t events_of_cycle)
    : options_(options), links_(links), events_(options), outlet_(outlet), events_of_cycle_(events_of_cycle),
      whole_cycles_end_(options.events == 0 ? std::numeric_limits<std::uint64_t>::max()
                                            : base::round_down(options.events, events_of_cycle)) {
    for (std::uint32_t link = 0; link < links.count; ++link) tally_.push_back({.elink = elink_of(link)});
    prepare();
}

void TemplateFeed::prepare() {
    auto const block_bytes = options_.format.block_bytes;
    auto const cycle = cycle_blocks(outlet_.writer().block_count());
    auto* const data = outlet_.writer().data();
    std::uint32_t event_now = 0;
    std::vector<PacketPlace> places(links_.count);
    std::deque<BlockWriter> writers;
    for (std::uint32_t link = 0; link < links_.count; ++link) {
        writers.emplace_back(options_.format, elink_of(link), [&, link](std::span<std::byte const> block) {
            std::ranges::copy(block, data + blocks_.size() * block_bytes);
            describe(link, event_now, block.data(), places[link]);
        });
    }
    write_events(options_, writers, elink_of(0), [&](std::uint64_t event) {
        if (event < events_of_cycle_) event_now = static_cast<std::uint32_t>(event);
        return event < events_of_cycle_;
    });
    for (auto& writer : writers) writer.flush();
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): validate() leaves no buffer without an e-link
    for (std::uint32_t link = 0; blocks_.size() < cycle; link = (link + 1) % links_.count) writers[link].pad();
    for (auto lap = cycle; lap < outlet_.writer().block_count(); lap += cycle) {
        std::memcpy(data + lap * block_bytes, data, cycle * block_bytes);
    }
    THALWEG_ASSERT(blocks_.size() == cycle, "a cycle fills its blocks");
    std::uint32_t most_heads = 0;
    for (auto const& block : blocks_) most_heads = std::max(most_heads, block.heads);
    for (std::uint32_t l1id = 0; l1id < kCrossingCycle + most_heads; ++l1id) {
        crossings_.push_back(static_cast<std::uint64_t>(bcid_of(l1id)) << 48);
    }
}

void TemplateFeed::describe(std::uint32_t link, std::uint32_t last_event, std::byte const* block, PacketPlace& place) {
    CycleBlock it{.link = link, .last_event = last_event, .first_head = static_cast<std::uint32_t>(offsets_.size())};
    auto const head_begin = options_.l1id_offset;
    auto const head_end = head_begin + static_cast<std::uint32_t>(sizeof(PacketHead));
    auto const pieces = *pieces_of(options_.format, block);
    for (auto const& piece : pieces) {
        if (!piece.carries_data()) continue;
        auto const begin = std::max(head_begin, place.byte);
        auto const end = std::min(head_end, place.byte + piece.size_bytes);
        auto const offset = static_cast<std::uint16_t>(piece.begin + begin - place.byte);
        if (begin == head_begin && end == head_end) {
            if (it.heads++ == 0) it.first_event = place.event;
            offsets_.push_back(offset);
        } else if (begin < end) {
            it.parts.push_back({place.event, offset, static_cast<std::uint16_t>(begin - head_begin),
                                static_cast<std::uint16_t>(end - begin)});
        }
        place.byte += piece.size_bytes;
        if (!piece.ends_packet()) continue;
        ++it.ends;
        place = {place.event + 1, 0};
    }
    blocks_.push_back(std::move(it));
}

void TemplateFeed::advance(std::uint64_t end_event) {
    if (!stamp_until(std::min(end_event, whole_cycles_end_)) || end_event <= whole_cycles_end_) return;
    if (!rest_) {
        auto place = links_;
        place.first_event = whole_cycles_end_;
        for (auto const& link : tally_) place.sequences.push_back(static_cast<std::uint8_t>(link.blocks % kSequences));
        rest_ = std::make_unique<WriterFeed>(options_, place, outlet_);
    }
    rest_->advance(end_event);
}

void TemplateFeed::tick(std::uint64_t now_ns) {
    if (rest_) rest_->tick(now_ns);
}

std::uint64_t TemplateFeed::next_end(std::uint64_t event) const {
    return event >= whole_cycles_end_ ? event : base::round_up(event, events_of_cycle_);
}

void TemplateFeed::finish() {
    if (rest_) rest_->finish();
}

std::vector<LinkTally> TemplateFeed::tally() const {
    auto tally = tally_;
    auto const rest = rest_ ? rest_->tally() : std::vector<LinkTally>();
    for (std::size_t link = 0; link < tally.size(); ++link) {
        tally[link].events = tally[link].packets;
        if (rest.empty()) continue;
        tally[link].events += rest[link].events;
        tally[link].packets += rest[link].packets;
        tally[link].blocks += rest[link].blocks;
    }
    return tally;
}

// Returns false if no process reads and the card must stop.
bool TemplateFeed::stamp_until(std::uint64_t end_event) {
    auto const is_due = [&] {
        return next_block_ < blocks_.size() && cycle_event_ + blocks_[next_block_].last_event < end_event;
    };
    for (;;) {
        if (next_block_ == blocks_.size()) {
            next_block_ = 0;
            cycle_event_ += events_of_cycle_;
        }
        if (!is_due()) return true;
        auto const room = outlet_.wait_for_room();
        if (room.blocks == 0) return false;
        std::uint64_t stamped = 0;
        for (; stamped < std::min(room.blocks, kBlocksAtOnce) && is_due(); ++stamped) {
            stamp(blocks_[next_block_++], room.data + stamped * options_.format.block_bytes);
        }
        outlet_.writer().publish(stamped);
    }
}

void TemplateFeed::stamp(CycleBlock const& block, std::byte* bytes) {
    THALWEG_ASSERT(block.first_head + block.heads <= offsets_.size(), "every head of a block has an offset");
    auto& tally = tally_[block.link];
    auto const sequence = static_cast<std::uint8_t>(tally.blocks % kSequences);
    auto const header = BlockHeader{tally.elink, sequence, options_.format.magic}.word();
    std::memcpy(bytes, &header, sizeof header);
    ++tally.blocks;
    tally.packets += block.ends;
    stamp_heads(block, cycle_event_ + block.first_event, bytes);
    for (auto const& part : block.parts) {
        auto const word = head_word(cycle_event_ + part.event, block.link);
        std::memcpy(bytes + part.offset, reinterpret_cast<std::byte const*>(&word) + part.first_byte, part.bytes);
    }
}

// Each packet costs one store of 8 bytes, and nothing else.
void TemplateFeed::stamp_heads(CycleBlock const& block, std::uint64_t event, std::byte* bytes) const {
    auto const* const offsets = offsets_.data() + block.first_head;
    if (events_.until_ecr(event) < block.heads) {
        for (std::uint32_t head = 0; head < block.heads; ++head) {
            auto const word = head_word(event + head, block.link);
            std::memcpy(bytes + offsets[head], &word, sizeof word);
        }
        return;
    }
    auto const l1id = events_.l1id_of(event);
    auto const first = static_cast<std::uint64_t>(elink_of(block.link)) << 32 | l1id;
    auto const* const crossings = crossings_.data() + l1id % kCrossingCycle;
    for (std::uint32_t head = 0; head < block.heads; ++head) {
        auto const word = first + head + crossings[head];
        std::memcpy(bytes + offsets[head], &word, sizeof word);
    }
}

std::uint64_t TemplateFeed::head_word(std::uint64_t event, std::uint32_t link) const {
    auto const l1id = events_.l1id_of(event);
    return std::bit_cast<std::uint64_t>(PacketHead{l1id, elink_of(link), bcid_of(l1id)});
}

} // namespace thalweg::felix
