// Room on the disk, ahead of need: what may be claimed, what is claimed and not written, and what the metadata and the
// journal will take. So a full disk shows while what is claimed can still be written and the file still be closed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/commit/region_space.h"
#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

class Space {
  public:
    // `reserve_bytes` of (pages so far) are kept free behind what is allocated, for the metadata.
    Space(OpenRun& run, JournalWriter& journal, std::uint64_t allocate_ahead_bytes,
          std::function<std::uint64_t(PageCounts const&)> reserve_bytes);

    // Raises what may be claimed, where that is needed and the disk has it; `unwritten_bytes` may still be in no page
    // when the run ends. Where there is no room left, claims are refused from then on.
    void allocate(PageCounts const& pages, std::uint64_t unwritten_bytes);
    // Nobody claims any more.
    void finish() {
        if (regions_) regions_->finish();
    }
    // Keeps the next bytes of the journal free.
    void reserve_journal(JournalWriter& journal, std::uint64_t size_bytes) const;

  private:
    OpenRun& run_;
    std::uint64_t allocate_ahead_bytes_;
    std::function<std::uint64_t(PageCounts const&)> reserve_bytes_;
    std::uint64_t allocation_bytes_;
    std::uint64_t room_end_ = 0; // allocated up to here, for what is claimed and for the metadata
    std::string error_;
    std::optional<RegionSpace> regions_; // of one of several nodes
};

} // namespace thalweg::dataset
