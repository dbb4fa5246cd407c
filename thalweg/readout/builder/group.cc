#include "thalweg/readout/builder/group.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSlotsAhead = 8;
constexpr std::uint64_t kLineBytes = 64;

} // namespace

GroupContext::GroupContext(GroupOptions group_options)
    : options(std::move(group_options)), slices(options.group.mode == Mode::triggerless),
      ring(options.index.events, options.group.fragment_bytes), now_ns(base::monotonic_ns()) {}

Group::Group(GroupOptions options)
    : context_(std::move(options)), hook_(context_.options), streams_(context_),
      writer_(context_, hook_, streams_.enabled_map()), closer_(context_, streams_, writer_), room_(context_),
      stretches_(context_, streams_, writer_, closer_, room_),
      held_(streams_.enabled_map(), felix::most_packets(context_.options.format)) {}

void Group::take_block(std::size_t index, std::byte const* block) {
    THALWEG_ASSERT(index < streams_.size(), "a block is of a stream of its group");
    THALWEG_ASSERT(room_.is_enough(stretches_.current().newest_position()), "a block is taken when there is room");
    auto& stream = streams_[index];
    if (!stream.enabled) return;
    auto const packets = stream.decoder.decode(block);
    if (packets.empty()) return;
    streams_.note_packets(stream);
    block_packets_ = packets.size();
    if (hook_.is_there() || context_.slices) {
        take_packets<false>(index, packets);
    } else {
        take_packets<true>(index, packets);
    }
    THALWEG_ASSERT_COSTLY(streams_.balances(index, stretches_.undecided(index)), "every packet goes to one place");
}

// Every packet of the detector passes through this loop. It uses local variables, so that the compiler knows that no
// store into a fragment can change them. It counts in events, which differ from positions by `shift`.
template <bool kPlain> void Group::take_packets(std::size_t index, std::span<felix::Packet const> packets) {
    auto& stream = streams_[index];
    auto& stretch = stretches_.current();
    auto const slots = context_.ring.view();
    auto const trigger = context_.options.trigger;
    auto const window_events = context_.options.index.window_events;
    auto const ticks = kPlain ? 1 : stretches_.numbers().ticks_of_slice();
    auto const ahead = share_of_prefetching(index, packets.size());
    auto window = stretches_.window();
    std::uint64_t duplicates = 0, strangers = 0, last = 0;
    for (auto const& packet : packets) {
        PacketKey key;
        bool damaged = false;
        bool const has_key =
            kPlain ? read_key(trigger, packet, key) : hook_.read_key(packet, stream.elink, key, damaged);
        if (!has_key) [[unlikely]] {
            stream.counters.orphaned.add(1);
            ++strangers;
            continue;
        }
        auto const event = EventNumbers::extend(key.raw, window.newest, ticks);
        if (!window.holds(event)) [[unlikely]] {
            stretch.advance_to(window.newest);
            stretches_.place(index, packet, key);
            window = stretches_.window();
            ++strangers;
            continue;
        }
        auto* const fragment = slots.at(event + window.shift);
        for (auto offset = ahead.begin; offset < ahead.end; offset += kLineBytes) {
            __builtin_prefetch(reinterpret_cast<std::byte*>(fragment) + offset, 1);
        }
        if (fragment->event != event) {
            writer_.begin(fragment, event, key);
            stretch.begin_event(event + window.shift);
        }
        auto const first = writer_.put<!kPlain>(fragment, index, packet, key);
        if (!kPlain && damaged) fragment->status |= kHookFailed;
        duplicates += !first;
        last = event + window.shift + 1;
        if (event > window.newest) {
            window.newest = event;
            window.room = std::min(event + window_events, window.limit) - window.low;
        }
    }
    stretch.advance_to(window.newest);
    THALWEG_ASSERT(window.room == 0 || window.low + window.shift >= closer_.watermark(),
                   "what is closed is never altered");
    stream.counters.duplicate.add(duplicates);
    auto const delivered = packets.size() - duplicates - strangers;
    if (delivered == 0) return;
    stream.counters.delivered.add(delivered);
    streams_.note_delivery(index, last);
}

// The slots that will be written soon have left the caches, and the first stream of an event would wait for them. So
// the slots of the next blocks are prefetched now; every stream prefetches its share of their lines.
Group::Lines Group::share_of_prefetching(std::size_t index, std::size_t packets) const {
    auto const lines = (writer_.typical_bytes() + kLineBytes - 1) / kLineBytes;
    auto const share = (lines + streams_.size() - 1) / streams_.size();
    auto const first = std::min<std::uint64_t>(index * share, lines),
               end = std::min<std::uint64_t>(first + share, lines);
    auto const slot = (packets + kSlotsAhead) * context_.ring.stride_bytes();
    return {slot + first * kLineBytes, slot + end * kLineBytes};
}

void Group::tick(std::uint64_t now_ns) {
    build_held(now_ns);
    context_.now_ns = now_ns;
    if (!stretches_.have_begun()) return publish();
    auto const newest = stretches_.current().newest_event();
    auto& activity = *context_.options.activity;
    newest_event_.set(newest);
    activity.saw(newest);
    streams_.look_for_dead(stretches_.current(), activity.newest_event.load(std::memory_order_relaxed));
    if (streams_.live_map() != streams_.enabled_map()) let_go();
    stretches_.close(false);
    publish();
    is_steady_ = is_steady();
    if (!is_steady_) let_go();
}

void Group::finish() {
    let_go();
    stretches_.close(true);
    newest_event_.set(stretches_.current().newest_event());
    publish();
}

void Group::leave_from(std::uint64_t event) {
    let_go();
    stretches_.leave_from(event);
}

void Group::begin_epoch(std::uint64_t first_ticks) {
    if (stretches_.have_begun()) finish();
    stretches_.begin_epoch(first_ticks);
}

void Group::publish() {
    if (is_not_awaited()) {
        closer_.publish_not_awaited();
    } else {
        closer_.publish(stretches_.oldest());
    }
}

// Returns whether all links of the group are dead while other groups go on.
bool Group::is_not_awaited() const {
    auto const& activity = *context_.options.activity;
    auto const& index = context_.options.index;
    auto const began_ns = activity.first_data_ns.load(std::memory_order_relaxed);
    if (streams_.live_map() != 0 || began_ns == 0 || closer_.open_events() != 0) return false;
    auto const newest = activity.newest_event.load(std::memory_order_relaxed);
    return newest > stretches_.current().newest_event() + index.close_after_events &&
           context_.now_ns > std::max(began_ns, streams_.last_packet_ns()) + index.dead_after_ns;
}

GroupReport Group::report() const {
    auto const& ring = context_.ring;
    GroupReport report{.source_id = context_.options.group.source_id,
                       .complete = closer_.complete(),
                       .incomplete = closer_.incomplete(),
                       .absent = closer_.absent(),
                       .overflows = writer_.overflows(),
                       .timed_out = closer_.timed_out(),
                       .jumps = stretches_.jumps(),
                       .hook_failures = hook_.failures(),
                       .hook_overruns = hook_.overruns(),
                       .newest_event = newest_event_.get(),
                       .open_events = closer_.open_events(),
                       .streams = streams_.report()};
    auto const held = ring.watermark() + report.open_events - ring.kept_from();
    report.fill = static_cast<double>(held) / static_cast<double>(ring.slots());
    return report;
}

} // namespace thalweg::readout
