// The hot path of serving. All that is common to the events of a range is computed once; for each event only its
// headers are checked and its fragments copied.
#include <algorithm>
#include <cstring>

#include "thalweg/base/assert.h"
#include "thalweg/readout/server/index.h"

namespace thalweg::readout {
namespace {

// The headers of slots this many events ahead are prefetched, because slots are far apart and rarely in a cache.
constexpr std::uint64_t kEventsAhead = 3;

constexpr std::size_t kLikelyBytes = 512; // size of a fragment before one was seen

void prefetch(void const* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<char const*>(data) + at);
}

} // namespace

struct Index::Segment {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    bool readable = false;
    EventState state = EventState::absent; // if there is nothing to read
    bool is_behind_end = false;
};

// Holds one Pin for each ring that has some of the range.
struct Index::Pinned {
    Pinned(Index& index, std::uint64_t first, std::uint64_t end, std::size_t thread) : scratch(index.scratch_[thread]) {
        for (std::size_t i = 0; i < index.rings_.size(); ++i) {
            auto& ring = *index.rings_[i];
            auto const known = ring.next_known(first);
            if (known == 0 || known >= end) continue;
            // The pin is not older than what is kept: a free slot must not look used.
            scratch.pins[i].emplace(ring, thread, std::max(ring.place_of(known).position, ring.kept_from()));
        }
    }
    Pinned(Pinned const&) = delete;
    Pinned& operator=(Pinned const&) = delete;
    ~Pinned() {
        for (auto& pin : scratch.pins) pin.reset();
    }

    RingScratch& scratch;
};

EventState Index::state_of_unknown(std::uint64_t event, Leases::Standing::Kind standing) const {
    // A ring remembers a limited number of stretches. Leases may know more of older events.
    for (auto const* ring : rings_)
        if (auto const oldest = ring->next_known(0); oldest != 0 && oldest <= event) return EventState::absent;
    if (standing == Leases::Standing::cleared) return EventState::cleared;
    return standing == Leases::Standing::lost ? EventState::evicted : EventState::absent;
}

Index::Segment Index::segment_at(std::uint64_t event, std::uint64_t end, std::vector<RingCursor>& cursors) const {
    bool is_known = false, is_gone = false;
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        auto& ring = *rings_[i];
        auto const place = ring.place_of(event);
        auto const closed = ring.watermark();
        auto const kept = ring.kept_from();
        cursors[i] = {&ring, place.position, place.known && place.position < closed, nullptr};
        if (!place.known) {
            if (auto const next = ring.next_known(event); next > event) end = std::min(end, next);
            continue;
        }
        is_known = true;
        end = std::min(end, event + std::min(place.run, end - event));
        if (cursors[i].known) end = std::min(end, event + (closed - place.position));
        if (place.position >= kept) continue;
        is_gone = true;
        end = std::min(end, event + (kept - place.position));
    }
    // The leases are asked after the rings: otherwise an event that was cleared and freed in between would look
    // evicted.
    auto const standing = leases_.standing(event, end);
    end = standing.until;
    if (!is_known) return {event, end, false, state_of_unknown(event, standing.kind)};
    if (standing.kind == Leases::Standing::cleared) return {event, end, false, EventState::cleared};
    if (is_gone || standing.kind == Leases::Standing::lost) return {event, end, false, EventState::evicted};
    return {event, end, true, EventState::absent};
}

// Returns the first event that did not fit.
template <typename Sink>
std::uint64_t Index::walk_readable(Segment const& segment, std::uint64_t max_bytes, RingScratch& scratch, Tally& tally,
                                   Sink&& sink) {
    auto& cursors = scratch.cursors;
    for (std::uint64_t ahead = 0; ahead < std::min(kEventsAhead, segment.end - segment.first); ++ahead)
        for (auto const& cursor : cursors)
            if (cursor.known)
                prefetch(cursor.ring->slot(cursor.position + ahead),
                         std::min<std::size_t>(kLikelyBytes, cursor.ring->capacity_bytes()));
    for (auto event = segment.first; event < segment.end; ++event) {
        EventRecord record{.event = event, .state = EventState::absent};
        std::uint32_t status = 0;
        for (auto& cursor : cursors) {
            cursor.header = nullptr;
            if (!cursor.known) continue;
            auto const* header = cursor.ring->slot(cursor.position);
            auto const* ahead = cursor.ring->slot(cursor.position++ + kEventsAhead);
            if (header->event != event) {
                prefetch(ahead, 1);
                continue;
            }
            prefetch(ahead, header->length_bytes);
            cursor.header = header;
            record.bytes += header->length_bytes;
            record.fragments++;
            status |= header->status;
        }
        if (!sink.fits(sizeof record + record.bytes, max_bytes)) return event;
        // Events do not wait for a group of dead links, but its fragment counts as missing.
        bool const all_complete = record.fragments == cursors.size() && (status & kIncomplete) == 0;
        record.state = state_of_readable(record.fragments, all_complete);
        tally.events[static_cast<std::size_t>(record.state)]++;
        tally.fragments += record.fragments;
        sink.record(record);
        for (auto const& cursor : cursors)
            if (cursor.header != nullptr) sink.fragment(cursor.header, cursor.header->length_bytes);
    }
    return segment.end;
}

template <typename Sink>
std::uint64_t Index::walk(std::uint64_t first, Limits const& limits, RingScratch& scratch, Tally& tally, Sink&& sink) {
    auto const end = first + limits.count;
    auto const closed = closed_event();
    auto event = first;
    while (event < end) {
        Segment segment{event, end, false, limits.open_as, limits.is_behind_end};
        if (event < closed)
            segment = segment_at(event, std::min(end, closed), scratch.cursors);
        else if (!limits.with_open)
            break;
        if (segment.readable) {
            event = walk_readable(segment, limits.max_bytes, scratch, tally, sink);
            if (event < segment.end) break;
            continue;
        }
        for (; event < segment.end; ++event) {
            if (!sink.fits(sizeof(EventRecord), limits.max_bytes)) return event;
            tally.events[static_cast<std::size_t>(segment.state)]++;
            sink.record({.event = event,
                         .state = segment.state,
                         .is_behind_end = static_cast<std::uint8_t>(segment.is_behind_end)});
        }
    }
    return event;
}

namespace {

// Copies fragments to the end of a buffer.
struct Flattened {
    ByteBuffer& out;
    std::size_t begin;

    bool fits(std::uint64_t bytes, std::uint64_t max_bytes) {
        if (out.size() > begin && out.size() - begin + bytes > max_bytes) return false;
        out.room(bytes);
        return true;
    }
    void record(EventRecord const& record) { fragment(&record, sizeof record); }
    void fragment(void const* bytes, std::size_t count) {
        std::memcpy(out.data() + out.size(), bytes, count);
        out.grow(count);
    }
};

// Copies fragments into memory that does not grow.
struct Fixed {
    std::span<std::byte> out;
    std::size_t size = 0;

    bool fits(std::uint64_t bytes, std::uint64_t max_bytes) const {
        return (size == 0 || size + bytes <= max_bytes) && size + bytes <= out.size();
    }
    void record(EventRecord const& record) { fragment(&record, sizeof record); }
    void fragment(void const* bytes, std::size_t count) {
        std::memcpy(out.data() + size, bytes, count);
        size += count;
    }
};

// Notes where the fragments lie. The buffer has room for all records before the first one is added, so they do not
// move.
struct Scattered {
    Index::Pieces& out;
    std::uint64_t bytes = 0;

    bool fits(std::uint64_t more, std::uint64_t max_bytes) {
        if (bytes > 0 && bytes + more > max_bytes) return false;
        bytes += more;
        return true;
    }
    void record(EventRecord const& record) {
        auto* const at = out.records.data() + out.records.size();
        out.records.append(record);
        auto& last = out.pieces.back();
        if (static_cast<std::byte*>(last.iov_base) + last.iov_len == at)
            last.iov_len += sizeof record;
        else
            out.pieces.push_back({at, sizeof record});
    }
    void fragment(void const* from, std::size_t count) { out.pieces.push_back({const_cast<void*>(from), count}); }
};

} // namespace

std::uint64_t Index::read(std::uint64_t first, Limits const& limits, std::size_t thread, ByteBuffer& out,
                          Tally* tally) {
    Tally unused;
    Pinned const pinned(*this, first, first + limits.count, thread);
    auto const next = walk(first, limits, pinned.scratch, tally ? *tally : unused, Flattened{out, out.size()});
    THALWEG_ASSERT(first <= next && next - first <= limits.count, "an answer holds events that were asked for");
    return next;
}

Index::Filled Index::read(std::uint64_t first, Limits const& limits, std::size_t thread, std::span<std::byte> out,
                          Tally* tally) {
    Tally unused;
    Pinned const pinned(*this, first, first + limits.count, thread);
    Fixed sink{out};
    auto const next = walk(first, limits, pinned.scratch, tally ? *tally : unused, sink);
    THALWEG_ASSERT(first <= next && next - first <= limits.count, "an answer holds events that were asked for");
    return {next, sink.size};
}

void Index::gather(std::uint64_t first, Limits const& limits, std::size_t thread, Pieces& out, Tally* tally,
                   std::function<void(std::uint64_t next)> const& use) {
    Tally unused;
    out.records.reserve(out.records.size() + limits.count * sizeof(EventRecord));
    out.pieces.assign(1, {out.records.data(), out.records.size()});
    Pinned const pinned(*this, first, first + limits.count, thread);
    Scattered sink{out};
    auto const next = walk(first, limits, pinned.scratch, tally ? *tally : unused, sink);
    out.bytes = 0;
    for (auto const& piece : out.pieces) out.bytes += piece.iov_len;
    use(next);
}

} // namespace thalweg::readout
