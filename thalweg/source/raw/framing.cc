#include "thalweg/source/raw/framing.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::source::raw {

using Bytes = std::span<std::byte const>;

Framer::Framer(Row const& row) : row_(row), shape_(shape_of(row)) {
    if (shape_.sync) sync_ = sync_bytes(row_.fields[*shape_.sync]);
}

bool Framer::has_sync(Bytes bytes, std::size_t offset) const {
    return std::memcmp(bytes.data() + offset, sync_.data(), sync_.size()) == 0;
}

Framer::Next Framer::sync_at(Bytes bytes, std::size_t offset, bool is_end) const {
    auto const there = std::min(sync_.size(), bytes.size() - std::min(offset, bytes.size()));
    if (there > 0 && std::memcmp(bytes.data() + offset, sync_.data(), there) != 0) return Next::does_not;
    return there == sync_.size() || is_end ? Next::follows : Next::unknown;
}

// Returns the first place from `from` on at which a sync word lies or, at the very end, may begin.
std::size_t Framer::find_sync(Bytes bytes, std::size_t from) const {
    auto const* const found = ::memmem(bytes.data() + from, bytes.size() - from, sync_.data(), sync_.size());
    if (found != nullptr) return static_cast<std::size_t>(static_cast<std::byte const*>(found) - bytes.data());
    auto place = bytes.size() - std::min(bytes.size() - from, sync_.size() - 1);
    while (place < bytes.size() && sync_at(bytes, place, false) == Next::does_not) ++place;
    return place;
}

bool Framer::may_hold_a_beginning(Bytes bytes, std::size_t from, std::size_t end) const {
    return find_sync(bytes.first(end), from) < end;
}

std::size_t Framer::end_of(Bytes bytes, std::size_t offset, std::size_t& items) const {
    items = 0;
    if (!shape_.list) return offset + shape_.fixed_bytes;
    auto const& field = row_.fields[*shape_.length];
    auto const width = model::size_bytes(field.scalar);
    auto const at = offset + shape_.offsets[*shape_.length];
    if (at + width > bytes.size()) return kUnknown;
    auto length = load_unsigned(bytes.data() + at, width, field.big_endian);
    if (length > row_.max_row_bytes) return kLie;
    auto const& list = row_.fields[*shape_.list];
    std::size_t list_bytes = 0;
    if (row_.length_of == Row::LengthOf::items) {
        items = length;
        list_bytes = bytes_of_items(list, items);
    } else {
        if (row_.length_of == Row::LengthOf::whole_row) {
            if (length < shape_.fixed_bytes) return kLie;
            length -= shape_.fixed_bytes;
        }
        list_bytes = length;
        items = list.packed_bits != 0 ? 8 * length / list.packed_bits : length / model::size_bytes(list.scalar);
        if (list.packed_bits == 0 && length % model::size_bytes(list.scalar) != 0) return kLie;
    }
    return list_bytes > row_.max_row_bytes - shape_.fixed_bytes ? kLie : offset + shape_.fixed_bytes + list_bytes;
}

void Framer::fail_length(Bytes bytes, std::size_t offset) const {
    auto const& field = row_.fields[*shape_.length];
    auto const length = load_unsigned(bytes.data() + offset + shape_.offsets[*shape_.length],
                                      model::size_bytes(field.scalar), field.big_endian);
    base::fail_data({fmt::format("table '{}', field '{}' is {}", row_.table, field.name, length),
                     fmt::format("no row is so long: it has {} to {} bytes, and rows have no sync word by which the "
                                 "next one could be found",
                                 shape_.fixed_bytes, row_.max_row_bytes),
                     "look at the byte order, and at what the length counts"});
}

// Goes on to the next sync word whose row is followed by another one.
Found Framer::skip_garbage(Bytes bytes, bool is_end) {
    auto const place = row_within(bytes, 0, bytes.size(), is_end);
    if (place == kUnknown) { // what may be a row begins at the first sync word, of which too little is there
        auto const first = find_sync(bytes, 0);
        garbage_bytes_.add(first);
        return {.bytes = first};
    }
    garbage_bytes_.add(place);
    if (place < bytes.size()) is_lost_ = false;
    return {.bytes = place};
}

// Returns the first place in [from, end) where a row begins for which the next sync word vouches; `end` if there is
// none; kUnknown if too few bytes have come to tell.
std::size_t Framer::row_within(Bytes bytes, std::size_t from, std::size_t end, bool is_end) const {
    std::size_t items = 0;
    for (auto place = find_sync(bytes, from); place < end; place = find_sync(bytes, place + 1)) {
        if (sync_at(bytes, place, false) == Next::unknown) {
            if (!is_end) return kUnknown;
            continue;
        }
        auto const next = end_of(bytes, place, items);
        if (next == kLie) continue;
        auto const is_cut = next == kUnknown || next > bytes.size();
        if (is_cut && is_end) continue;
        if (is_cut) return kUnknown;
        auto const follows = sync_at(bytes, next, is_end);
        if (follows == Next::unknown) return kUnknown;
        if (follows == Next::follows) return place;
    }
    return end;
}

Found Framer::cut(std::size_t begin, std::size_t end) {
    THALWEG_ASSERT(begin < end, "a cut row has bytes");
    cut_rows_.add(1);
    return {.bytes = end};
}

// Leaves out a row that lies about its length. The search for the next one begins behind its first byte.
Found Framer::leave_row() {
    bad_lengths_.add(1);
    garbage_bytes_.add(1);
    is_lost_ = true;
    return {.bytes = 1};
}

Found Framer::find(Bytes bytes, bool is_end, std::size_t max_rows) {
    if (bytes.empty()) return {};
    if (!shape_.list && !shape_.sync) {
        auto const rows = std::min(max_rows, bytes.size() / shape_.fixed_bytes);
        return {.rows = rows, .bytes = rows * shape_.fixed_bytes};
    }
    if (is_lost_) {
        auto const garbage = skip_garbage(bytes, is_end);
        if (is_lost_ || garbage.bytes > 0) return garbage;
    }
    frames_.clear();
    std::size_t at = 0, rows = 0;
    auto const so_far = [&] { return Found{.rows = rows, .frames = frames_, .bytes = at}; };
    while (rows < max_rows && at < bytes.size()) {
        std::size_t items = 0;
        if (shape_.sync && sync_at(bytes, at, false) == Next::does_not) {
            if (rows > 0) return so_far();
            is_lost_ = true;
            return skip_garbage(bytes, is_end);
        }
        auto const end = end_of(bytes, at, items);
        if (end == kLie) {
            if (rows > 0) return so_far();
            if (!shape_.sync) fail_length(bytes, at);
            return leave_row();
        }
        bool const is_whole = end != kUnknown && end <= bytes.size();
        if (!is_whole && !(is_end && shape_.sync)) return so_far();
        if (shape_.sync) {
            auto const follows = is_whole ? sync_at(bytes, end, is_end) : Next::does_not;
            if (follows == Next::unknown && may_hold_a_beginning(bytes, at + 1, end)) return so_far();
            // The length of a row that was cut is any number, and may by chance lead to a later row.
            if (follows == Next::does_not || shape_.list) {
                auto const until = is_whole ? end : bytes.size();
                auto const next = row_within(bytes, at + 1, until, is_end);
                if (next == kUnknown && follows == Next::does_not) return so_far();
                bool const is_lie = is_whole && shape_.list && follows == Next::does_not; // it leads to no row
                if (rows > 0 && (next < until || is_lie)) return so_far();
                if (next < until) return cut(at, next);
                if (is_lie) return leave_row();
                if (!is_whole) return so_far();
            }
        }
        if (shape_.list) frames_.push_back({at, items});
        ++rows;
        at = end;
    }
    return so_far();
}

} // namespace thalweg::source::raw
