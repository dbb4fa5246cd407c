#include "thalweg/felix/writer_feed.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/felix/fault_draw.h"

namespace thalweg::felix {

WriterFeed::WriterFeed(CardOptions const& options, FeedLinks const& links, DmaOutlet& outlet)
    : options_(options), place_(links), events_(options), outlet_(outlet), packet_(options.sizes.max_bytes),
      next_event_(links.first_event), now_ns_(base::monotonic_ns()), is_faulty_(options.faults.any()) {
    for (std::uint32_t index = 0; index < links.count; ++index) {
        auto const elink = static_cast<std::uint16_t>(options.first_elink + links.first + index);
        auto const sequence = links.sequences.empty() ? std::uint8_t{0} : links.sequences[index];
        // The link does not move, because it lies in a deque.
        links_.emplace_back(
            options.format, elink, [this, index](auto block) { hand_over(links_[index], block); }, sequence);
    }
}

void WriterFeed::advance(std::uint64_t end_event) {
    for (; next_event_ < end_event; ++next_event_) {
        if (is_faulty_) misbehave(next_event_);
        for (auto& link : links_) send(link, next_event_);
    }
}

void WriterFeed::tick(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    outlet_.tick(now_ns);
    if (options_.timeout_ns == 0) return;
    for (auto& link : links_) {
        if (link.waiting_since_ns != 0 && now_ns - link.waiting_since_ns >= options_.timeout_ns) link.writer.flush();
    }
}

void WriterFeed::finish() {
    for (auto& link : links_) {
        send_held(link, std::exchange(link.swapped, std::nullopt), ~std::uint64_t{0});
        link.writer.flush();
        link.books.close();
    }
    outlet_.tick(~std::uint64_t{0});
}

std::vector<LinkTally> WriterFeed::tally() const {
    std::vector<LinkTally> tallies;
    for (auto const& link : links_) tallies.push_back(link.books.tally);
    return tallies;
}

void WriterFeed::send(CardLink& link, std::uint64_t event) {
    if (event < link.dead_until_event) return;
    ++link.books.tally.events;
    if (!is_faulty_) return write(link, event);
    auto const swapped = std::exchange(link.swapped, std::nullopt);
    auto& done = link.books.tally.faults;
    auto const fault = packet_fault(options_, link.elink, event);
    if (fault == PacketFault::missing) {
        ++done.missing;
    } else if (fault == PacketFault::late) {
        ++done.late;
        link.late.push_back({event + options_.faults.late_events, event});
    } else if (fault == PacketFault::duplicated) {
        ++done.duplicated;
        write(link, event);
        write(link, event);
    } else if (fault == PacketFault::swapped && !swapped) {
        ++done.swapped;
        link.swapped = event;
    } else if (fault == PacketFault::none || fault == PacketFault::swapped) {
        write(link, event);
    } else {
        auto const packet = events_.packet_of(link.elink, event, packet_);
        send_faulty(link, event, std::span(packet_).first(packet.size()));
    }
    send_held(link, swapped, event);
}

// Applies faults to the packet itself.
void WriterFeed::send_faulty(CardLink& link, std::uint64_t event, std::span<std::byte> packet) {
    auto& done = link.books.tally.faults;
    auto const detail = bits_for(options_, Purpose::packet_detail, link.elink, event);
    switch (packet_fault(options_, link.elink, event)) {
    case PacketFault::truncated: {
        ++done.truncated;
        auto const rest = packet.first((detail >> 1) % packet.size());
        // A card may report a cut packet in both ways. If the beginning of a packet is lost, an end by timeout would
        // look like a packet of its own, which could not be counted.
        if (detail % 2 == 0 || !link.writer.fits(rest.size())) {
            link.writer.write(rest, Trailer::kTruncated | Trailer::kError);
        } else {
            link.writer.write_timed_out(rest);
        }
        break;
    }
    case PacketFault::crc: {
        // The L1ID is not flipped, so that the packet still belongs to its event.
        auto const l1id = options_.l1id_offset;
        auto const place = static_cast<std::uint32_t>(detail % (packet.size() - sizeof(std::uint32_t)));
        packet[place < l1id ? place : place + sizeof(std::uint32_t)] ^=
            static_cast<std::byte>(1u << (detail >> 60) % 8);
        ++done.crc;
        link.writer.write(packet, Trailer::kCrc);
        break;
    }
    case PacketFault::error:
        ++done.error;
        link.writer.write(packet, Trailer::kError);
        break;
    case PacketFault::busy:
        ++done.busy;
        link.writer.write(packet, Trailer::kBusy);
        break;
    case PacketFault::missing:
    case PacketFault::late:
    case PacketFault::duplicated:
    case PacketFault::swapped:
    case PacketFault::none: // these leave the packet as it is
        break;
    }
    after_packet(link);
}

// Sends what follows `event`: a packet that was swapped with it, and late ones that are due.
void WriterFeed::send_held(CardLink& link, std::optional<std::uint64_t> swapped, std::uint64_t event) {
    if (swapped) write(link, *swapped);
    for (; !link.late.empty() && link.late.front().due_event <= event; link.late.pop_front()) {
        write(link, link.late.front().event);
    }
}

void WriterFeed::write(CardLink& link, std::uint64_t event) {
    link.writer.write(events_.packet_of(link.elink, event, packet_));
    after_packet(link);
}

void WriterFeed::after_packet(CardLink& link) {
    if (std::exchange(link.lap_is_due, false)) {
        // No packet may be open where the lap begins: its two ends would form one packet, and no reader would notice.
        link.writer.flush();
        link.blocks_to_lose = kSequences;
    }
    if (!link.writer.is_empty() && link.waiting_since_ns == 0) link.waiting_since_ns = now_ns_;
}

void WriterFeed::hand_over(CardLink& link, std::span<std::byte const> block) {
    link.waiting_since_ns = 0;
    auto const fault = is_faulty_ ? block_fault(options_, link.elink, link.writer.blocks()) : BlockFault::none;
    bool const is_in_lap = link.blocks_to_lose > 0;
    if (is_in_lap) --link.blocks_to_lose;
    if (is_in_lap || fault == BlockFault::lost) return link.books.lost(block.data());
    if (fault == BlockFault::lap) link.lap_is_due = true;
    auto const room = outlet_.wait_for_room();
    if (room.blocks == 0) return; // no process reads, and the card must stop
    THALWEG_ASSERT(block.size() == options_.format.block_bytes, "a card hands over whole blocks");
    std::ranges::copy(block, room.data);
    if (fault == BlockFault::garbage) {
        garble(room.data, link.elink);
        link.books.garbled(block.data());
    } else {
        link.books.published(block.data());
    }
    outlet_.writer().publish(1);
}

// Writes bytes that are not a block in any format.
void WriterFeed::garble(std::byte* block, std::uint16_t elink) const {
    auto count = outlet_.writer().position() * kMaxBlockBytes;
    do {
        for (auto at = kBlockHeaderBytes; at < options_.format.block_bytes; at += sizeof(std::uint32_t)) {
            auto const bits = static_cast<std::uint32_t>(bits_for(options_, Purpose::garbage, elink, ++count));
            std::memcpy(block + at, &bits, sizeof bits);
        }
    } while (pieces_of(options_.format, block));
}

// Applies faults of links and buffers, not of packets: one draw for the card decides, and the feed that it concerns
// acts.
void WriterFeed::misbehave(std::uint64_t event) {
    auto const& faults = options_.faults;
    auto const which = bits_for(options_, Purpose::which, 0, event);
    if (fraction_for(options_, Purpose::dead_link, 0, event) < faults.dead_link) {
        auto const index = which % options_.elinks - place_.first;
        if (index < place_.count && links_[index].dead_until_event <= event) {
            links_[index].dead_until_event = event + faults.dead_events;
            ++links_[index].books.tally.faults.dead_times;
        }
    }
    if (fraction_for(options_, Purpose::stuck_pointer, 0, event) >= faults.stuck_pointer) return;
    if (which % options_.buffers != place_.buffer) return;
    auto const word = outlet_.writer().shown();
    switch (which >> 32 & 3) {
    case 0:
        return outlet_.stick(word | 1, faults.stuck_ns); // between blocks
    case 1:
        return outlet_.stick(options_.buffer_bytes + word, faults.stuck_ns); // out of the buffer
    case 2:
        return outlet_.stick(~std::uint64_t{0}, faults.stuck_ns);
    default:
        return outlet_.stick(word, faults.stuck_ns); // nothing new
    }
}

} // namespace thalweg::felix
