#include "thalweg/dataset/commit/space.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
Space::Space(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes,
             std::function<std::uint64_t(PageCounts const&)> reserve_bytes)
    : run_(run), allocate_ahead_bytes_(allocate_ahead_bytes), reserve_bytes_(std::move(reserve_bytes)),
      allocation_bytes_(std::min(RegionSpace::kFirstAllocationBytes, allocate_ahead_bytes)) {
    if (run.node) regions_.emplace(run, journal, allocate_ahead_bytes);
}

void Space::allocate(PageCounts const& pages, std::uint64_t unwritten_bytes) {
    if (regions_) return regions_->allocate(reserve_bytes_(pages) + unwritten_bytes);
    auto& head = run_.ledger->head();
    if (head.claims_refused != 0) return;
    auto const claimed = head.claimed.load();
    auto const claimable = head.claimable.load(), wanted = head.wanted.load();
    auto const free = claimable - claimed;
    bool const enough = free >= std::max(allocation_bytes_ / 2, wanted) && free > 0;
    auto const room = reserve_bytes_(pages) + unwritten_bytes;
    if (enough && claimable + room <= room_end_) return;
    auto const least = std::max(RegionSpace::kSmallestAllocationBytes, wanted);
    for (auto bytes = enough ? free : std::max(allocation_bytes_, wanted); bytes > 0;
         bytes = RegionSpace::half_of(bytes, least)) {
        auto const end = std::max(claimable, base::round_up(claimed + bytes, base::kBlockBytes));
        auto const room_end = end + room + room / 4; // more than now, so that it lasts a while
        try {
            run_.file->reserve(claimable, room_end - claimable);
            room_end_ = room_end;
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            error_ = error.what();
            continue;
        }
        THALWEG_ASSERT(head.claimable <= end, "what may be claimed never shrinks");
        head.claimable = end;
        if (!enough) allocation_bytes_ = std::min(allocation_bytes_ * 2, allocate_ahead_bytes_);
        return;
    }
    if (free >= least && claimable + room <= room_end_) return; // a little is left: use it first
    run_.ledger->refuse_claims(
        fmt::format("{} takes no more rows ({}): what it has is complete once it is closed", run_.path(), error_));
}

void Space::reserve_journal(JournalWriter& journal, std::uint64_t size_bytes) const {
    try {
        journal.reserve_ahead(size_bytes);
    } catch (base::SystemError const& error) {
        if (!base::is_no_space(error.code)) throw;
        run_.ledger->refuse_claims(error.what());
    }
}

} // namespace thalweg::dataset
