// Room in the file for one of several nodes: regions, which are taken one after the other, each before the one in use
// is used up. What is claimed within them is claimed as ever.
//
// States of a region, and what moves it on (all called by `allocate`, but for the last):
//
//     free        no node has its name.
//        |        take_next: creates the name; if this node is the first, it journals that it has the region.
//        v
//     next        its beginning is allocated at once, or, if the disk is full then, when it is entered.
//        |        enter_next: `claimed` jumps to its begin, then `claimable` follows; the journal notes how far the one
//        v        before it is used.
//     present     allocate_in: `claimable` grows within it.
//        |        enter_next for the following one, or finish(): the journal notes how far it is used.
//        v
//     ended
//
// Invariants:
//
//  1. A region belongs to one node: to the one that has created its name.
//  2. Regions of a node ascend, so `claimed` and `claimable` only grow.
//  3. Nothing is claimed in a region before the journal says that this node has it.
//  4. A node that others complete the file without takes no region: that is announced before they look at the names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

class RegionSpace {
  public:
    static constexpr std::uint64_t kFirstAllocationBytes = 16 * base::kMiB, kSmallestAllocationBytes = 4 * base::kMiB;

    // What to try where the disk has no room for so many; 0: nothing less will do.
    static constexpr std::uint64_t half_of(std::uint64_t bytes, std::uint64_t least) {
        return bytes > least ? std::max(bytes / 2, least) : 0;
    }

    RegionSpace(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes);

    // Raises what may be claimed. `room_bytes` are kept for this node's share of the metadata. Throws base::SystemError
    // (ENOSPC, EDQUOT, EFBIG) while the disk has no room.
    void allocate(std::uint64_t room_bytes);
    // No producer claims any more: journals what of the regions is not in use.
    void finish();

  private:
    struct Taken {
        Region region;
        std::uint64_t allocated_end;
    };

    void keep_room(std::uint64_t bytes);
    bool take_next();
    // Returns 0, or the errno with which the disk had no room.
    int allocate_in(Taken& taken, std::uint64_t least_bytes);
    [[noreturn]] void fail_without_room(int errno_code) const;
    bool enter_next();
    void journal_end(Region const& region, std::uint64_t used_end);

    OpenRun& run_;
    JournalWriter& journal_;
    std::uint64_t allocate_ahead_bytes_;
    std::uint64_t allocation_bytes_;
    std::optional<Taken> present_, next_; // nothing of the next one is allocated if the disk had no room for it
    std::uint64_t wanted_bytes_ = 0;      // a claim that waits, or has found no room
    std::unique_ptr<storage::Storage> room_;
    std::uint64_t room_bytes_ = 0;
    bool is_superseded_ = false; // the file is being completed without this node
};

} // namespace thalweg::dataset
