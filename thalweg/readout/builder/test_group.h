// A group that a test feeds: packets come through real blocks, and the clock moves only if the test says so.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "thalweg/felix/block_writer.h"
#include "thalweg/felix/packet.h"
#include "thalweg/readout/builder/group.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

inline constexpr std::uint64_t kEpoch1 = std::uint64_t{1} << 32;

class TestGroup {
  public:
    static GroupOptions options_of(std::uint32_t streams) {
        GroupOptions options;
        for (std::uint32_t stream = 0; stream < streams; ++stream) {
            options.group.elinks.push_back(static_cast<std::uint16_t>(stream));
        }
        options.group.source_id = 0x51;
        options.group.fragment_bytes = 512;
        options.index.events = 4096;
        options.index.window_events = 256;
        options.index.close_after_events = 64;
        options.run = 7;
        return options;
    }

    explicit TestGroup(std::uint32_t streams) : TestGroup(options_of(streams)) {}
    explicit TestGroup(GroupOptions options) : options_(options), group(std::move(options)) {
        for (std::size_t stream = 0; stream < options_.group.elinks.size(); ++stream) {
            auto const sink = [this, stream](std::span<std::byte const> block) { take(stream, block); };
            writers_.push_back(
                std::make_unique<felix::BlockWriter>(options_.format, options_.group.elinks[stream], sink));
        }
        tick(); // from now on the test sets its clock
    }

    // Sends one packet in a block of its own.
    void send(std::size_t stream, std::uint32_t l1id, std::uint32_t size_bytes = 24, std::uint32_t flags = 0) {
        put(stream, l1id, size_bytes, flags);
        writers_[stream]->flush();
    }
    // Writes a packet into the open block; flush() hands the block over.
    void put(std::size_t stream, std::uint32_t l1id, std::uint32_t size_bytes = 24, std::uint32_t flags = 0) {
        std::vector<std::byte> packet(size_bytes);
        felix::PacketHead const head{l1id, options_.group.elinks[stream], felix::bcid_of(l1id)};
        felix::fill_packet(packet, options_.trigger.l1id_offset, head);
        writers_[stream]->write(packet, flags);
        ++sent;
    }
    void send_bytes(std::size_t stream, std::span<std::byte const> packet) {
        writers_[stream]->write(packet);
        writers_[stream]->flush();
        ++sent;
    }
    void send_all(std::uint32_t l1id) {
        for (std::size_t stream = 0; stream < writers_.size(); ++stream) send(stream, l1id);
    }
    void send_range(std::size_t stream, std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) put(stream, first + i);
        writers_[stream]->flush();
    }
    void tick(std::uint64_t later_ns = 0) { group.tick(now_ns += later_ns); }
    void finish() { group.finish(); }

    // Returns the fragment of a closed event, or an empty span if no packet of it came.
    std::span<std::byte const> fragment(std::uint64_t event) {
        auto const place = group.ring().place_of(event);
        return place.known ? group.ring().fragment(event, place.position) : std::span<std::byte const>();
    }
    FragmentHeader header(std::uint64_t event) { return FragmentView(fragment(event)).header(); }
    std::uint64_t closed() { return group.ring().closed_event(); }

    GroupOptions options_;
    std::uint64_t now_ns = 1'000'000'000'000;
    std::uint64_t sent = 0;
    std::uint64_t refused = 0; // blocks
    Group group;

  private:
    // Vectors may read behind a block, as in a DMA buffer.
    void take(std::size_t stream, std::span<std::byte const> block) {
        block_.assign(block.begin(), block.end());
        block_.resize(block.size() + 64);
        if (group.has_room()) {
            group.take_block(stream, block_.data());
        } else {
            ++refused;
        }
    }

    std::vector<std::unique_ptr<felix::BlockWriter>> writers_;
    std::vector<std::byte> block_;
};

// Adds a counter over the streams of a report.
template <typename Member> std::uint64_t sum(GroupReport const& report, Member member) {
    std::uint64_t sum = 0;
    for (auto const& stream : report.streams) sum += stream.*member;
    return sum;
}

} // namespace thalweg::readout
