#include "thalweg/dataset/commit/space.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kRetryNs = 100'000'000;
// A disk with less than this and what is kept for the end is full.
constexpr std::uint64_t kLeastBytes = base::kMiB;

} // namespace

SpaceAhead::SpaceAhead(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes,
                       std::function<std::uint64_t(PageCounts const&)> reserve_bytes)
    : run_(run), journal_(journal), allocate_ahead_bytes_(allocate_ahead_bytes),
      reserve_bytes_(std::move(reserve_bytes)),
      allocation_bytes_(std::min(RegionSpace::kFirstAllocationBytes, allocate_ahead_bytes)) {
    if (run.node) regions_.emplace(run, journal, allocate_ahead_bytes);
}

void SpaceAhead::keep_ahead(PageCounts const& pages, std::uint64_t unwritten_bytes, std::uint64_t journal_bytes) {
    auto& ledger = *run_.ledger;
    if (!ledger.has_room() && base::monotonic_ns() < next_try_ns_) return;
    try {
        auto const room_bytes = reserve_bytes_(pages) + unwritten_bytes;
        regions_ ? regions_->allocate(room_bytes) : allocate(room_bytes);
        journal_.reserve_ahead(journal_bytes + unwritten_bytes);
        ledger.allow_claims();
    } catch (base::SystemError const& error) {
        if (!base::is_no_space(error.code)) throw;
        ledger.refuse_claims(error.code);
        next_try_ns_ = base::monotonic_ns() + kRetryNs;
    }
}

void SpaceAhead::allocate(std::uint64_t room_bytes) {
    auto& head = run_.ledger->head();
    auto const claimed = head.claimed.load();
    auto const claimable = head.claimable.load(), wanted = head.wanted.load();
    THALWEG_ASSERT(claimed <= claimable, "what is claimed was allocated before");
    auto const free = claimable - claimed;
    bool const enough = free >= std::max(allocation_bytes_ / 2, wanted) && free > 0;
    if (enough && claimable + room_bytes <= room_end_) return;
    auto const least = std::max(kLeastBytes, wanted);
    auto more_room_bytes = room_bytes / 4; // than is needed now, so that it lasts a while
    for (auto bytes = enough ? free : std::max(allocation_bytes_, wanted);;) {
        auto const end = std::max(claimable, base::round_up(claimed + bytes, base::kBlockBytes));
        auto const room_end = end + room_bytes + more_room_bytes;
        try {
            run_.file->reserve(claimable, room_end - claimable);
            room_end_ = room_end;
            THALWEG_ASSERT(head.claimable <= end, "what may be claimed never shrinks");
            head.claimable = end;
            if (!enough) allocation_bytes_ = std::min(allocation_bytes_ * 2, allocate_ahead_bytes_);
            return;
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            more_room_bytes = 0;
            bytes = RegionSpace::half_of(bytes, least);
            bool const a_little_is_left = free >= least && claimable + room_bytes <= room_end_; // use it first
            if (bytes == 0 && !a_little_is_left) throw;
            if (bytes == 0) return;
        }
    }
}

} // namespace thalweg::dataset
