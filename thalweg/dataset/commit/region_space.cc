#include "thalweg/dataset/commit/region_space.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
RegionSpace::RegionSpace(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes)
    : run_(run), journal_(journal), allocate_ahead_bytes_(allocate_ahead_bytes),
      allocation_bytes_(std::min(kFirstAllocationBytes, allocate_ahead_bytes)) {}

void RegionSpace::refuse(std::string const& why) {
    run_.ledger->refuse_claims(
        fmt::format("{} takes no more rows ({}): what it has is complete once it is closed", run_.path(), why));
}

void RegionSpace::allocate(std::uint64_t room_bytes) {
    auto& head = run_.ledger->head();
    if (head.claims_refused != 0 || !keep_room(room_bytes)) return;
    auto const waiting = head.waiting.exchange(0);
    if ((!present_ || waiting > present_->region.end - head.claimed) && !enter_next()) return;
    auto const& region = present_->region;
    auto const free = head.claimable - head.claimed;
    if (head.claimable < region.end && free < std::max<std::uint64_t>(allocation_bytes_ / 2, waiting)) {
        auto const end = allocate_in(region, head.claimable, waiting);
        if (end) {
            head.claimable = present_->allocated_end = *end;
        } else if (free < std::max(kSmallestAllocationBytes, waiting)) {
            return refuse(error_); // else a little is left: use it first
        }
    }
    if (!next_ && !has_failed_ && region.end - head.claimed < (region.end - region.begin) / 2) next_ = take();
}

// A file of its own: what lies behind a region of this node is another's.
bool RegionSpace::keep_room(std::uint64_t bytes) {
    if (bytes <= room_bytes_) return true;
    auto const wanted = base::round_up(bytes + bytes / 4, base::kBlockBytes); // so that it lasts a while
    try {
        if (!room_)
            room_ = storage::open_file_storage(run_.node->parts.room(run_.node->which.node),
                                               storage::OpenMode::create_new, storage::Engine::posix);
        room_->reserve(room_bytes_, wanted - room_bytes_);
        room_bytes_ = wanted;
        return true;
    } catch (base::SystemError const& error) {
        if (!base::is_no_space(error.code)) throw;
        refuse(error.what());
        return false;
    }
}

// The one behind all that are taken, so that no hole stays between two; another node may be faster. Nothing where the
// disk is full: what was taken then is said to be unused, and what is left of the present one is the last.
std::optional<RegionSpace::Taken> RegionSpace::take() {
    auto const& node = *run_.node;
    while (!has_failed_) {
        auto const taken = node.parts.regions();
        auto const number = taken.empty() ? 0 : taken.back() + 1;
        auto const region = node.plan.region(number);
        if (!node.parts.take_region(number) || region.begin == region.end) continue;
        node.parts.sync(); // else its name may go with this machine, and another node take what is ours
        // Who completes the file has announced that before it looked at the regions: it may not know of this one.
        if (base::identity_of(node.parts.path() + "/" + kCompleting)) {
            error_ = "the others complete the file without this node";
            has_failed_ = true;
            break;
        }
        journal_.append(RecordType::region, RegionRecord{region.number, 0, region.begin});
        if (auto const end = allocate_in(region, region.begin, 0)) return Taken{region, *end};
        journal_end(region, region.begin);
        has_failed_ = true;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> RegionSpace::allocate_in(Region const& region, std::uint64_t from,
                                                      std::uint64_t least_bytes) {
    auto const rest = region.end - from;
    auto const least = std::min(rest, std::max(kSmallestAllocationBytes, least_bytes));
    for (auto bytes = std::clamp(allocation_bytes_, least, rest); bytes > 0; bytes = half_of(bytes, least)) {
        auto const end = std::min(region.end, base::round_up(from + bytes, base::kBlockBytes));
        try {
            run_.file->reserve(from, end - from);
            allocation_bytes_ = std::min(allocation_bytes_ * 2, allocate_ahead_bytes_);
            return end;
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            error_ = error.what();
        }
    }
    return std::nullopt;
}

// Producers claim while this is done. `claimed` goes first: it lies behind `claimable` then, and nobody claims until
// that has followed. Both only grow, since regions are taken in the order in which they lie.
bool RegionSpace::enter_next() {
    auto taken = next_ ? std::exchange(next_, std::nullopt) : take();
    if (!taken) {
        refuse(error_);
        return false;
    }
    auto& head = run_.ledger->head();
    auto claimed = head.claimed.load();
    THALWEG_ASSERT(taken->region.begin >= head.claimable, "regions of a node ascend");
    while (!head.claimed.compare_exchange_weak(claimed, taken->region.begin)) {
    }
    head.claimable = taken->allocated_end;
    if (present_) journal_end(present_->region, claimed);
    present_ = taken;
    return true;
}

void RegionSpace::journal_end(Region const& region, std::uint64_t used_end) {
    journal_.append(RecordType::region, RegionRecord{region.number, 1, used_end});
}

void RegionSpace::finish() {
    if (present_) journal_end(present_->region, run_.ledger->head().claimed);
    if (next_) journal_end(next_->region, next_->region.begin);
    present_.reset();
    next_.reset();
}

} // namespace thalweg::dataset
