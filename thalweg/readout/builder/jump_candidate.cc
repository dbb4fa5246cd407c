#include "thalweg/readout/builder/jump_candidate.h"

#include <algorithm>
#include <bit>

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kPacketsOfAJump = 8; // one damaged number makes no jump, not even in a group of one stream

} // namespace

void JumpCandidate::note(std::size_t stream, bool duplicate, std::uint64_t position) {
    streams_ |= std::uint64_t{1} << stream;
    ++packets_;
    auto& share = shares_[stream];
    ++(duplicate ? share.duplicates : share.delivered);
    share.progress = std::max(share.progress, position + 1);
}

JumpCandidate::Verdict JumpCandidate::judge(std::uint64_t live_map, std::uint64_t newest_position, std::uint64_t now_ns,
                                            IndexConfig const& index, bool finishing) const {
    THALWEG_ASSERT(newest_position >= since_position_, "the stretch that a jump leaves only advances");
    THALWEG_ASSERT_COSTLY(packets_of_all() == packets_, "every packet of a jump is of one stream");
    bool const most = 2 * std::popcount(streams_) > std::popcount(live_map);
    auto const progress = newest_position - since_position_;
    bool const waited = now_ns - since_ns_ > index.close_after_ns;
    if (most && (finishing || packets_ >= kPacketsOfAJump)) return Verdict::accepted;
    bool const is_left_alone = progress > index.close_after_events || (waited && progress != 0);
    return finishing || is_left_alone ? Verdict::rejected : Verdict::open;
}

std::uint64_t JumpCandidate::packets_of_all() const {
    std::uint64_t sum = 0;
    for (auto const& share : shares_) sum += share.packets();
    return sum;
}

} // namespace thalweg::readout
