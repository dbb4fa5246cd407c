#include "thalweg/codec/steady_lz4.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "thalweg/base/assert.h"

namespace thalweg::codec {
namespace {

// "LZ4 Block Format Description": the last match begins 12 bytes before the end or earlier, and 5 literals are last.
constexpr std::size_t kMinMatch = 4, kLastMatchBegin = 12, kLastLiterals = 5, kMaxDistance = 65'535;
constexpr unsigned kHashBits = 15;

// Wide tables of few events are mostly header and text, which are worth a long search; page lists of long runs are made
// again and again while a run is open.
constexpr std::size_t kSearchedBytes = std::size_t{512} << 10;
constexpr int kMostLooks = 16;          // at earlier places of the same hash, in what has at most so many bytes
constexpr std::size_t kLongNibble = 15; // what follows it counts on, 255 a byte

struct Match {
    std::size_t begin = 0, distance = 0, length = 0;
};

class BlockEncoder {
  public:
    BlockEncoder(std::span<std::byte const> in, std::size_t tail_bytes)
        : in_(in), matches_end_(in.size() - std::min(in.size(), std::max(tail_bytes, kLastLiterals))),
          is_searched_(in.size() <= kSearchedBytes), newest_(std::size_t{1} << kHashBits, kNone),
          earlier_(kMaxDistance + 1, kNone) {}

    std::vector<std::byte> encode() && {
        std::size_t position = 0, literals = 0;
        while (may_begin_at(position)) {
            auto match = longest_match(position);
            if (match.length < kMinMatch) {
                ++position;
                continue;
            }
            if (is_searched_) match = better_one_behind(match);
            lengthen_backwards(match, literals);
            put_sequence(in_.subspan(literals, match.begin - literals), match.distance, match.length);
            literals = position = match.begin + match.length;
        }
        put_sequence(in_.subspan(literals), 0, 0);
        return std::move(out_);
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    bool may_begin_at(std::size_t position) const {
        return position + kMinMatch <= matches_end_ && position + kLastMatchBegin <= in_.size();
    }

    // Returns the match, or one that begins later and saves more than the literals in front of it cost.
    Match better_one_behind(Match match) {
        while (may_begin_at(match.begin + 1)) {
            auto const later = longest_match(match.begin + 1);
            if (later.length <= match.length + 1) break;
            match = later;
        }
        return match;
    }

    Match longest_match(std::size_t position) {
        while (remembered_ < position) remember(remembered_++);
        Match longest{position};
        auto candidate = newest_[hash_at(position)];
        for (int looks = is_searched_ ? kMostLooks : 1;
             looks > 0 && candidate != kNone && position - candidate <= kMaxDistance; --looks) {
            if (auto const length = length_of_match(candidate, position); length > longest.length)
                longest = {position, position - candidate, length};
            candidate = earlier_[candidate & kMaxDistance];
        }
        return longest;
    }

    void remember(std::size_t position) {
        auto& newest = newest_[hash_at(position)];
        earlier_[position & kMaxDistance] = std::exchange(newest, static_cast<std::uint32_t>(position));
    }

    std::size_t hash_at(std::size_t position) const {
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, in_.data() + position, sizeof bytes);
        return (bytes * 2'654'435'761u) >> (32 - kHashBits);
    }

    std::size_t length_of_match(std::size_t candidate, std::size_t position) const {
        THALWEG_ASSERT(candidate < position, "a match copies what is in front of it");
        auto const* const from = in_.data() + candidate;
        auto const* const to = in_.data() + position;
        return static_cast<std::size_t>(std::mismatch(to, in_.data() + matches_end_, from).first - to);
    }

    void lengthen_backwards(Match& match, std::size_t literals) const {
        while (match.begin > literals && match.begin > match.distance &&
               in_[match.begin - 1] == in_[match.begin - 1 - match.distance]) {
            --match.begin;
            ++match.length;
        }
    }

    // Literals and the match behind them. The last sequence has no match: its distance is 0.
    void put_sequence(std::span<std::byte const> literals, std::size_t distance, std::size_t length) {
        auto const more = distance == 0 ? 0 : length - kMinMatch;
        out_.push_back(std::byte(std::min(literals.size(), kLongNibble) << 4 | std::min(more, kLongNibble)));
        put_rest_of(literals.size());
        out_.insert(out_.end(), literals.begin(), literals.end());
        if (distance == 0) return;
        out_.push_back(std::byte(distance & 0xff));
        out_.push_back(std::byte(distance >> 8));
        put_rest_of(more);
    }

    void put_rest_of(std::size_t length) {
        if (length < kLongNibble) return;
        for (length -= kLongNibble; length >= 255; length -= 255) out_.push_back(std::byte{255});
        out_.push_back(std::byte(length));
    }

    std::span<std::byte const> in_;
    std::size_t matches_end_;
    bool is_searched_;
    std::size_t remembered_ = 0;         // positions before it are in what follows
    std::vector<std::uint32_t> newest_;  // position by hash of its four bytes
    std::vector<std::uint32_t> earlier_; // of the same hash, by position modulo the longest distance
    std::vector<std::byte> out_;
};

} // namespace

std::vector<std::byte> encode_steady_lz4(std::span<std::byte const> in, std::size_t tail_bytes) {
    THALWEG_ASSERT(in.size() < UINT32_MAX, "positions have 32 bits");
    return BlockEncoder(in, tail_bytes).encode();
}

} // namespace thalweg::codec
