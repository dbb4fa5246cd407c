// Maps ranges of events to values. Neighbouring ranges with the same value are one piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

template <typename Value> class IntervalMap {
  public:
    struct Interval {
        std::uint64_t first;
        std::uint64_t end;
        Value value;
    };

    // Sets the value of [first, end), whatever it was before.
    void assign(std::uint64_t first, std::uint64_t end, Value const& value) {
        if (first >= end) return;
        erase(first, end);
        auto const after = pieces_.lower_bound(end);
        if (after != pieces_.end() && after->first == end && after->second.value == value) {
            end = after->second.end;
            pieces_.erase(after);
        }
        if (auto const before = before_or_at(first);
            before != pieces_.end() && before->second.end == first && before->second.value == value) {
            before->second.end = end;
            return;
        }
        pieces_.emplace(first, Rest{end, value});
    }

    void erase(std::uint64_t first, std::uint64_t end) {
        if (first >= end) return;
        cut(first);
        cut(end);
        pieces_.erase(pieces_.lower_bound(first), pieces_.lower_bound(end));
    }

    std::optional<Interval> at(std::uint64_t event) const {
        auto const it = before_or_at(event);
        if (it == pieces_.end() || it->second.end <= event) return std::nullopt;
        return Interval{it->first, it->second.end, it->second.value};
    }

    // Returns where the next piece behind `event` begins, or `limit` if none begins before it.
    std::uint64_t next_begin(std::uint64_t event, std::uint64_t limit) const {
        auto const it = pieces_.upper_bound(event);
        return it == pieces_.end() ? limit : std::min(it->first, limit);
    }

    // Visits the pieces of [first, end), clipped to this range, until `visit(piece)` returns false.
    template <typename Visit> void visit(std::uint64_t first, std::uint64_t end, Visit&& visit) const {
        if (first >= end) return;
        auto it = before_or_at(first);
        if (it == pieces_.end() || it->second.end <= first) it = pieces_.upper_bound(first);
        for (; it != pieces_.end() && it->first < end; ++it)
            if (!visit(Interval{std::max(first, it->first), std::min(end, it->second.end), it->second.value})) return;
    }

    std::size_t size() const { return pieces_.size(); }
    bool empty() const { return pieces_.empty(); }
    Interval front() const {
        return {pieces_.begin()->first, pieces_.begin()->second.end, pieces_.begin()->second.value};
    }
    void pop_front() { pieces_.erase(pieces_.begin()); }

  private:
    struct Rest {
        std::uint64_t end;
        Value value;
    };
    using Pieces = std::map<std::uint64_t, Rest>;

    // Returns the piece that begins at `event`, or the last one before it.
    static auto find(auto& pieces, std::uint64_t event) {
        auto const after = pieces.upper_bound(event);
        return after == pieces.begin() ? pieces.end() : std::prev(after);
    }
    typename Pieces::iterator before_or_at(std::uint64_t event) { return find(pieces_, event); }
    typename Pieces::const_iterator before_or_at(std::uint64_t event) const { return find(pieces_, event); }

    void cut(std::uint64_t at) {
        auto const it = before_or_at(at);
        if (it == pieces_.end() || it->first == at || it->second.end <= at) return;
        THALWEG_ASSERT(it->first < at && at < it->second.end, "a piece is cut inside");
        pieces_.emplace(at, it->second);
        it->second.end = at;
    }

    Pieces pieces_;
};

} // namespace thalweg::readout
