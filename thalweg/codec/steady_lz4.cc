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
constexpr std::size_t kLongNibble = 15; // what follows it counts on, 255 a byte

class BlockEncoder {
  public:
    BlockEncoder(std::span<std::byte const> in, std::size_t tail_bytes)
        : in_(in), matches_end_(in.size() - std::min(in.size(), std::max(tail_bytes, kLastLiterals))),
          places_(std::size_t{1} << kHashBits, kNone) {}

    std::vector<std::byte> encode() && {
        std::size_t position = 0, literals = 0;
        while (position + kMinMatch <= matches_end_ && position + kLastMatchBegin <= in_.size()) {
            auto const candidate = remember(position);
            auto const length = candidate == kNone ? 0 : length_of_match(candidate, position);
            if (length < kMinMatch) {
                ++position;
                continue;
            }
            put_sequence(in_.subspan(literals, position - literals), position - candidate, length);
            for (auto const end = position + length; ++position < end;)
                if (position + kMinMatch <= in_.size()) remember(position);
            literals = position;
        }
        put_sequence(in_.subspan(literals), 0, 0);
        return std::move(out_);
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    // Returns where the same four bytes, or others of the same hash, were last.
    std::uint32_t remember(std::size_t position) {
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, in_.data() + position, sizeof bytes);
        auto& place = places_[(bytes * 2'654'435'761u) >> (32 - kHashBits)];
        return std::exchange(place, static_cast<std::uint32_t>(position));
    }

    std::size_t length_of_match(std::size_t candidate, std::size_t position) const {
        THALWEG_ASSERT(candidate < position, "a match copies what is in front of it");
        if (position - candidate > kMaxDistance) return 0;
        auto const* const from = in_.data() + candidate;
        auto const* const to = in_.data() + position;
        return static_cast<std::size_t>(std::mismatch(to, in_.data() + matches_end_, from).first - to);
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
    std::vector<std::uint32_t> places_; // by hash
    std::vector<std::byte> out_;
};

} // namespace

std::vector<std::byte> encode_steady_lz4(std::span<std::byte const> in, std::size_t tail_bytes) {
    THALWEG_ASSERT(in.size() < UINT32_MAX, "positions have 32 bits");
    return BlockEncoder(in, tail_bytes).encode();
}

} // namespace thalweg::codec
