// Builds the same blocks in both ways, packet by packet and event by event, and compares what comes out. Fragments are
// the same except for the order of their payloads, and all counters are the same.
#pragma once

#include <deque>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "thalweg/readout/builder/group.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

class TwoWays {
  public:
    explicit TwoWays(GroupOptions const& options)
        : by_packet_(with_own_activity(options)), by_event_(with_own_activity(options)) {
        tick(0);
    }

    // Takes a block of a stream, unless there is no room.
    void take(std::size_t stream, std::span<std::byte const> block) {
        if (!by_packet_.has_room() || !by_event_.has_room()) {
            ++refused_;
            return;
        }
        auto& kept = blocks_.emplace_back(block.begin(), block.end());
        kept.resize(block.size() + felix::kReadableBehind); // vectors may read behind a block, as in a DMA buffer
        by_packet_.take_block(stream, kept.data());
        by_event_.hold_block(stream, kept.data(), taken_++);
        if (by_event_.held_from() < taken_) ++held_;
    }
    void tick(std::uint64_t later_ns) {
        now_ns_ += later_ns;
        by_packet_.tick(now_ns_);
        by_event_.tick(now_ns_);
        compare();
        forget();
    }
    void finish() {
        by_packet_.finish();
        by_event_.finish();
        compare();
        compare_counters();
        if (by_event_.held_from() != HeldPackets::kNone) note("a block is held at the end");
    }

    // Returns the first difference; empty: there was none.
    std::string const& difference() const { return difference_; }
    GroupReport report() const { return by_event_.report(); }
    std::uint64_t refused() const { return refused_; }
    std::uint64_t held() const { return held_; } // how often blocks were held back
    std::uint64_t compared() const { return compared_; }

  private:
    static GroupOptions with_own_activity(GroupOptions options) {
        options.activity = std::make_shared<HandlerActivity>();
        return options;
    }
    void note(std::string const& what) {
        if (difference_.empty()) difference_ = what;
    }
    template <class Value> void expect_same(char const* what, Value const& left, Value const& right) {
        if (left != right) note(fmt::format("{}: {} and {}", what, left, right));
    }

    void compare() {
        auto& left = by_packet_.ring();
        auto& right = by_event_.ring();
        expect_same("closed", left.closed_event(), right.closed_event());
        auto const end = left.closed_event();
        if (end == EventRing::kNotAwaited || !difference_.empty()) return;
        for (auto event = left.next_known(compared_before_); event != 0 && event < end; event = next(left, event)) {
            auto const at = left.place_of(event), other = right.place_of(event);
            if (at.known != other.known) return note(fmt::format("event {:#x} is known in one way", event));
            if (!at.known) continue; // of a stretch whose numbers came again later
            compare(event, left.fragment(event, at.position), right.fragment(event, other.position));
            ++compared_;
        }
        compared_before_ = std::max(compared_before_, end);
    }
    static std::uint64_t next(EventRing const& ring, std::uint64_t event) { return ring.next_known(event + 1); }

    void compare(std::uint64_t event, std::span<std::byte const> left, std::span<std::byte const> right) {
        if (left.empty() != right.empty()) return note(fmt::format("event {:#x} is absent in one way", event));
        if (left.empty()) return;
        FragmentView const by_packet(left), by_event(right);
        auto header = by_packet.header(), other = by_event.header();
        header.checksum = other.checksum = 0;
        if (std::memcmp(&header, &other, sizeof header) != 0)
            note(fmt::format("event {:#x}: status {:#x} and {:#x}, {} and {} bytes, {} and {} us, streams {:#x} and "
                             "{:#x}, bcid {} and {}",
                             event, header.status, other.status, header.length_bytes, other.length_bytes,
                             header.build_us, other.build_us, header.stream_map, other.stream_map, header.bcid,
                             other.bcid));
        for (std::uint32_t stream = 0; stream < header.stream_count; ++stream) {
            auto const one = by_packet.payload(stream), two = by_event.payload(stream);
            if (!std::ranges::equal(one, two)) note(fmt::format("event {:#x}: stream {} differs", event, stream));
        }
    }

    void compare_counters() {
        auto const left = by_packet_.report(), right = by_event_.report();
        expect_same("complete", left.complete, right.complete);
        expect_same("incomplete", left.incomplete, right.incomplete);
        expect_same("absent", left.absent, right.absent);
        expect_same("overflows", left.overflows, right.overflows);
        expect_same("timed out", left.timed_out, right.timed_out);
        expect_same("jumps", left.jumps, right.jumps);
        expect_same("newest", left.newest_event, right.newest_event);
        for (std::size_t stream = 0; stream < left.streams.size(); ++stream) {
            auto const &one = left.streams[stream], &two = right.streams[stream];
            expect_same("packets", one.packets, two.packets);
            expect_same("payload bytes", one.payload_bytes, two.payload_bytes);
            expect_same("delivered", one.delivered, two.delivered);
            expect_same("duplicate", one.duplicate, two.duplicate);
            expect_same("late", one.late, two.late);
            expect_same("out of window", one.out_of_window, two.out_of_window);
            expect_same("orphaned", one.orphaned, two.orphaned);
            expect_same("dropped chunks", one.dropped_chunks, two.dropped_chunks);
            expect_same("deaths", one.deaths, two.deaths);
            expect_same("live", one.live, two.live);
            if (!two.balances()) note(fmt::format("stream {} does not balance", stream));
        }
    }

    // Frees slots, and blocks that no group needs any more.
    void forget() {
        for (auto* const group : {&by_packet_, &by_event_}) {
            auto const closed = group->closed_event();
            if (closed != 0 && closed != EventRing::kNotAwaited) group->ring().release(closed);
        }
        auto const needed_from = std::min(by_event_.held_from(), taken_);
        for (; forgotten_ < needed_from; ++forgotten_) blocks_.pop_front(); // a sanitizer sees who reads it now
    }

    Group by_packet_, by_event_;
    std::deque<std::vector<std::byte>> blocks_;
    std::string difference_;
    std::uint64_t now_ns_ = 1'000'000'000'000;
    std::uint64_t taken_ = 0, forgotten_ = 0, refused_ = 0, held_ = 0, compared_ = 0, compared_before_ = 0;
};

} // namespace thalweg::readout
