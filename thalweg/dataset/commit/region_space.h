// Room in the file for one of several nodes: regions, which are taken one after the other, each before the one in use
// is used up. What is claimed within them is claimed as ever.
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

    // Raises what may be claimed. `room_bytes` are kept for this node's share of the metadata. Where the disk has no
    // more room, claims are refused from then on.
    void allocate(std::uint64_t room_bytes);
    // Nobody claims any more: journals what of the regions is not in use.
    void finish();

  private:
    struct Taken {
        Region region;
        std::uint64_t allocated_end;
    };

    void refuse(std::string const& why);
    bool keep_room(std::uint64_t bytes);
    std::optional<Taken> take();
    // Where allocation ends now; nothing: the disk is full.
    std::optional<std::uint64_t> allocate_in(Region const& region, std::uint64_t from, std::uint64_t least_bytes);
    bool enter_next();
    void journal_end(Region const& region, std::uint64_t used_end);

    OpenRun& run_;
    JournalWriter& journal_;
    std::uint64_t allocate_ahead_bytes_;
    std::uint64_t allocation_bytes_;
    std::optional<Taken> present_, next_;
    std::unique_ptr<storage::Storage> room_;
    std::uint64_t room_bytes_ = 0;
    bool has_failed_ = false; // to take one: no more are asked for
    std::string error_;
};

} // namespace thalweg::dataset
