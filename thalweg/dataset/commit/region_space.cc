#include "thalweg/dataset/commit/region_space.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
RegionSpace::RegionSpace(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes)
    : run_(run), journal_(journal), allocate_ahead_bytes_(allocate_ahead_bytes),
      allocation_bytes_(std::min(kFirstAllocationBytes, allocate_ahead_bytes)) {}

void RegionSpace::allocate(std::uint64_t room_bytes) {
    if (is_superseded_) return;
    auto& head = run_.ledger->head();
    keep_room(room_bytes);
    wanted_bytes_ = std::max(wanted_bytes_, head.waiting.exchange(0));
    if ((!present_ || wanted_bytes_ > present_->region.end - head.claimed) && !enter_next()) return;
    auto const& region = present_->region;
    auto const free = head.claimable - head.claimed;
    if (head.claimable < region.end && free < std::max<std::uint64_t>(allocation_bytes_ / 2, wanted_bytes_)) {
        auto const code = allocate_in(*present_, wanted_bytes_);
        bool const a_little_is_left = free >= std::max(kSmallestAllocationBytes, wanted_bytes_); // use it first
        if (code != 0 && !a_little_is_left) fail_without_room(code);
        head.claimable = present_->allocated_end;
    }
    wanted_bytes_ = 0;
    bool const next_is_due = !next_ && region.end - head.claimed < (region.end - region.begin) / 2;
    if (next_is_due && take_next()) static_cast<void>(allocate_in(*next_, 0)); // tried again when it is entered
}

void RegionSpace::fail_without_room(int errno_code) const {
    base::fail_system({run_.path() + " cannot become larger"}, errno_code);
}

// A file of its own: what lies behind a region of this node is another's.
void RegionSpace::keep_room(std::uint64_t bytes) {
    if (bytes <= room_bytes_) return;
    auto const wanted = base::round_up(bytes + bytes / 4, base::kBlockBytes); // so that it lasts a while
    if (!room_) run_.node->parts.keep_spare(run_.node->which.node);
    if (!room_)
        room_ = storage::open_file_storage(run_.node->parts.room(run_.node->which.node), storage::OpenMode::create_new,
                                           storage::Engine::posix);
    room_->reserve(room_bytes_, wanted - room_bytes_);
    room_bytes_ = wanted;
}

// Takes the region behind all that are taken, so that no hole stays between two; another node may be faster. Nothing
// of it is allocated yet. False if the file is being completed without this node.
bool RegionSpace::take_next() {
    auto const& node = *run_.node;
    auto const taken = node.parts.regions(); // which may be old: what is taken already is not taken again
    for (auto number = taken.empty() ? 0 : taken.back() + 1;; ++number) {
        auto const region = node.plan.region(number);
        if (!node.parts.take_region(number) || region.begin == region.end) continue;
        node.parts.sync(); // else its name may go with this machine, and another node take what is ours
        // The node that completes the file announces that before it looks at the regions: it may not know of this one.
        is_superseded_ = node.parts.has(kCompleting);
        if (is_superseded_) {
            run_.ledger->fail(
                fmt::format("{} takes no more rows (the others complete it without this node)", run_.path()));
            return false;
        }
        journal_.append(RecordType::region, RegionRecord{region.number, 0, region.begin});
        next_ = Taken{region, region.begin};
        return true;
    }
}

int RegionSpace::allocate_in(Taken& taken, std::uint64_t least_bytes) {
    auto const rest = taken.region.end - taken.allocated_end;
    auto const least = std::min(rest, std::max(kSmallestAllocationBytes, least_bytes));
    int code = 0;
    for (auto bytes = std::clamp(allocation_bytes_, least, rest); bytes > 0; bytes = half_of(bytes, least)) {
        auto const end = std::min(taken.region.end, base::round_up(taken.allocated_end + bytes, base::kBlockBytes));
        try {
            run_.file->reserve(taken.allocated_end, end - taken.allocated_end);
            allocation_bytes_ = std::min(allocation_bytes_ * 2, allocate_ahead_bytes_);
            taken.allocated_end = end;
            return 0;
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            code = error.code;
        }
    }
    return code;
}

// Producers claim while this is done. `claimed` goes first: it lies behind `claimable` then, and no producer claims
// until that has followed. Both only grow, since regions are taken in the order in which they lie.
bool RegionSpace::enter_next() {
    if (!next_ && !take_next()) return false;
    bool const is_bare = next_->allocated_end == next_->region.begin;
    if (auto const code = is_bare ? allocate_in(*next_, wanted_bytes_) : 0; code != 0) fail_without_room(code);
    auto const taken = std::exchange(next_, std::nullopt);
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
