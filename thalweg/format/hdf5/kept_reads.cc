#include "thalweg/format/hdf5/kept_reads.h"

#include <algorithm>
#include <bit>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::uint64_t kHeadBytes = 2560; // superblock, and the seal and mark of our files
constexpr std::uint64_t kLeastBytes = 512;
constexpr std::uint64_t kMostBytes = 256 * base::kKiB;
constexpr std::uint64_t kShare = 8; // a piece is no more than this part of what was read before, but for the least
constexpr std::uint64_t kMostKeptBytes = 16 * base::kMiB;

} // namespace

void KeptReads::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (offset > size_bytes_ || bytes.size() > size_bytes_ - offset || bytes.size() > kMostKeptBytes) {
        return file_.read(offset, bytes); // which says what is wrong with it
    }
    while (!bytes.empty()) {
        auto const [at, piece] = *piece_with(offset, bytes.size());
        auto const from = std::span(piece).subspan(offset - at);
        auto const count = std::min(from.size(), bytes.size());
        std::copy_n(from.begin(), count, bytes.begin());
        bytes = bytes.subspan(count);
        offset += count;
    }
}

std::uint64_t KeptReads::piece_bytes() const {
    return std::clamp(std::bit_floor(read_bytes_ / kShare + 1), kLeastBytes, kMostBytes);
}

KeptReads::Pieces::const_iterator KeptReads::piece_with(std::uint64_t offset, std::uint64_t wanted_bytes) const {
    auto next = pieces_.upper_bound(offset);
    std::uint64_t begin = offset / kLeastBytes * kLeastBytes;
    if (next != pieces_.begin()) {
        auto const before = std::prev(next);
        auto const end = before->first + before->second.size();
        if (offset < end) return before;
        begin = std::max(begin, end);
    }
    if (kept_bytes_ >= kMostKeptBytes) {
        pieces_.clear();
        kept_bytes_ = 0;
        next = pieces_.end();
    }
    auto const wanted_end = (offset + wanted_bytes + kLeastBytes - 1) / kLeastBytes * kLeastBytes;
    auto end = std::max(wanted_end, begin + (begin == 0 ? kHeadBytes : piece_bytes()));
    end = std::min({end, size_bytes_, next == pieces_.end() ? size_bytes_ : next->first});
    THALWEG_ASSERT(begin <= offset && offset < end && (next == pieces_.end() || end <= next->first),
                   "a piece holds what is asked for, and no piece overlaps another");
    std::vector<std::byte> piece(end - begin);
    file_.read(begin, piece);
    kept_bytes_ += piece.size();
    read_bytes_ += piece.size();
    return pieces_.emplace(begin, std::move(piece)).first;
}

} // namespace thalweg::format::hdf5
