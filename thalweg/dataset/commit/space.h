// Room on the disk, ahead of need: what may be claimed, what is claimed and not written, and what the metadata and the
// journal will take. So a full disk shows while what is claimed can still be written and the file still be closed.
//
// States, and what moves between them (all in `keep_ahead`, which the committer calls at every step):
//   has room   all of these are allocated.
//   has none   one of them could not be allocated: the ledger refuses claims. It is tried again every 100 ms.
// Nothing that was allocated is given back in between, so what producers have claimed and published stays safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/commit/region_space.h"
#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

class SpaceAhead {
  public:
    // `reserve_bytes` of (pages so far) are kept free behind what is allocated, for the metadata.
    SpaceAhead(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes,
               std::function<std::uint64_t(PageCounts const&)> reserve_bytes);

    // Raises what may be claimed and what the journal may grow by, if that is needed and the disk has it; claims are
    // refused while it has not. `unwritten_bytes` may still be in no page when the run ends.
    void keep_ahead(PageCounts const& pages, std::uint64_t unwritten_bytes, std::uint64_t journal_bytes);
    // No producer claims any more.
    void finish() {
        if (regions_) regions_->finish();
    }

  private:
    void allocate(std::uint64_t room_bytes);

    OpenRun& run_;
    JournalWriter& journal_;
    std::uint64_t allocate_ahead_bytes_;
    std::function<std::uint64_t(PageCounts const&)> reserve_bytes_;
    std::uint64_t allocation_bytes_;
    std::uint64_t room_end_ = 0;         // allocated up to here, for what is claimed and for the metadata
    std::uint64_t next_try_ns_ = 0;      // while there is no room
    std::optional<RegionSpace> regions_; // of one of several nodes
};

} // namespace thalweg::dataset
