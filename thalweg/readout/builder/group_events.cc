// Building event by event: if all streams of a group go on with the same events, each fragment is written once. Where
// they do not, what was held back goes to its slots packet by packet, in the order in which it came (group.cc). Both
// ways make the same fragments, except for the order of payloads.
#include <algorithm>
#include <array>
#include <cstddef>

#include "thalweg/base/assert.h"
#include "thalweg/readout/builder/group.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kEventsAhead = 6;
constexpr std::uint64_t kPrefetchBytes = 64;
// No block is held back for longer, nor for longer than half of `close_after`: it is for the streams of a card that
// writes at some rate, whose blocks come close together.
constexpr std::uint64_t kLongestHoldNs = 5'000'000;
constexpr std::uint64_t kBlocksOfLag = HeldPackets::kMostBlocks / 2;

} // namespace

void Group::hold_block(std::size_t index, std::byte const* block, std::uint64_t position) {
    auto& stream = streams_[index];
    if (!stream.enabled) return;
    if (!is_steady_) return take_block(index, block);
    auto const packets = stream.decoder.decode(block);
    if (packets.empty()) return;
    streams_.note_packets(stream);
    block_packets_ = packets.size();
    if (!goes_on(index, packets)) {
        let_go();
        take_packets<true>(index, packets);
    } else {
        auto const begun = of_begun_events(index, packets.size());
        auto const rest = packets.subspan(begun);
        if (begun != 0) take_packets<true>(index, packets.first(begun));
        if (!rest.empty()) held_.put(index, rest, position, context_.now_ns);
        if (++blocks_since_built_ >= held_.streams().size()) build_events();
        if (held_.is_full(index) || !stretches_.is_single()) let_go();
    }
    THALWEG_ASSERT_COSTLY(streams_.balances(index, stretches_.undecided(index) + held_.count(index)),
                          "every packet goes to one place");
}

// Returns whether the packets are of events that follow each other, from the one behind the stream's last packet on.
// Any other packet may belong to an event that is about to be closed, or to a jump, and is placed when it comes.
bool Group::goes_on(std::size_t index, std::span<felix::Packet const> packets) {
    auto const offset = context_.options.trigger.l1id_offset;
    auto const least_bytes = writer_.least_bytes();
    auto const next_event = stretches_.current().event_of(streams_[index].progress);
    auto expected = held_.is_empty(index) ? static_cast<std::uint32_t>(next_event)
                                          : load<std::uint32_t>(held_.last(index).data + offset) + 1;
    std::uint32_t differs = 0;
    for (auto const& packet : packets) {
        if (packet.size_bytes < least_bytes) [[unlikely]]
            return false;
        differs |= load<std::uint32_t>(packet.data + offset) ^ expected++;
    }
    return differs == 0;
}

// Returns how many of the first packets of a stream that goes on belong to events of which other packets are placed.
std::size_t Group::of_begun_events(std::size_t index, std::size_t packets) {
    if (!held_.is_empty(index)) return 0; // what follows them is not placed either
    auto const next = streams_[index].progress, begun_before = stretches_.current().newest_position() + 1;
    return next < begun_before ? std::min<std::uint64_t>(packets, begun_before - next) : 0;
}

// All streams hold packets of events that follow each other, so it is enough that the first ones are of one event.
bool Group::begin_together(std::array<felix::Packet const*, kMaxStreams> const& heads) const {
    auto const offset = context_.options.trigger.l1id_offset;
    auto const first = load<std::uint32_t>(heads[0]->data + offset);
    return std::all_of(heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(held_.streams().size()),
                       [&](auto const* head) { return load<std::uint32_t>(head->data + offset) == first; });
}

// Returns how many events it has built: all, or those before the first one of which the streams do not agree.
template <std::uint32_t kFirstBytes>
std::size_t Group::build_batch(std::array<felix::Packet const*, kMaxStreams> const& heads,
                               HeldPackets::Batch const& batch) {
    auto& stretch = stretches_.current();
    auto const slots = context_.ring.view();
    auto const trigger = context_.options.trigger;
    auto const window_events = context_.options.index.window_events;
    auto const lines_bytes = writer_.typical_bytes();
    auto const begun_us = static_cast<std::uint32_t>(batch.taken_ns / 1000);
    auto const streams = held_.streams();
    if (!begin_together(heads)) return 0;
    auto window = stretches_.window();
    auto const before = window.newest;
    FragmentWriter::Entries entries = {};
    std::uint64_t first = 0;
    std::uint32_t widest = 0;
    std::size_t done = 0;
    for (; done < batch.count; ++done) {
        PacketKey key;
        if (!read_key(trigger, heads[0][done], key)) break;
        auto const event = EventNumbers::extend(key.raw, window.newest, 1);
        if (event <= window.newest || !window.holds(event)) break;
        auto* const fragment = slots.at(event + window.shift);
        auto const* const ahead = reinterpret_cast<std::byte const*>(slots.at(event + window.shift + kEventsAhead));
        for (std::uint64_t offset = 0; offset < lines_bytes; offset += kPrefetchBytes) {
            __builtin_prefetch(ahead + offset, 1);
        }
        if (!writer_.write<kFirstBytes>(fragment, event, key, streams, heads, done, begun_us, entries, widest)) break;
        if (done == 0) first = event;
        window.newest = event;
        window.room = std::min(event + window_events, window.limit) - window.low;
    }
    widest_ = std::max(widest, widest_ / 2);
    if (done == 0) return 0;
    THALWEG_ASSERT(first > before, "what is built at once was not begun before");
    stretch.begin_event(first + window.shift);
    stretch.advance_to(window.newest);
    return done;
}

void Group::build_events() {
    blocks_since_built_ = 0;
    std::array<felix::Packet const*, kMaxStreams> heads;
    std::uint64_t built = 0;
    bool agree = true;
    while (agree) {
        auto const batch = held_.batch(heads);
        if (batch.count == 0) break;
        auto const done = widest_ <= 32   ? build_batch<32>(heads, batch)
                          : widest_ <= 48 ? build_batch<48>(heads, batch)
                                          : build_batch<64>(heads, batch);
        held_.drop(done);
        built += done;
        agree = done == batch.count;
    }
    if (built != 0) {
        auto const progress = stretches_.current().newest_position() + 1;
        for (auto const number : held_.streams()) {
            streams_[number].counters.delivered.add(built);
            streams_.note_delivery(number, progress);
        }
    }
    if (!agree) let_go();
}

void Group::let_go() {
    is_steady_ = false;
    auto const now_ns = context_.now_ns;
    while (!held_.is_empty()) {
        auto const block = held_.first_block();
        context_.now_ns = block.taken_ns; // fragments begin when their packets came
        take_packets<true>(block.stream, block.packets);
        held_.drop(block);
    }
    context_.now_ns = now_ns;
}

void Group::build_held(std::uint64_t now_ns) {
    if (held_.is_empty()) return;
    build_events();
    auto const longest = std::min(kLongestHoldNs, context_.options.index.close_after_ns / 2);
    if (!held_.is_empty() && now_ns - held_.oldest_ns() > longest) let_go();
}

bool Group::is_steady() const {
    return !hook_.is_there() && !context_.slices && held_.streams().size() > 1 && stretches_.have_begun() &&
           stretches_.is_single() && streams_.live_map() == streams_.enabled_map() &&
           streams_.are_together(stretches_.current().newest_position(), kBlocksOfLag * block_packets_);
}

} // namespace thalweg::readout
