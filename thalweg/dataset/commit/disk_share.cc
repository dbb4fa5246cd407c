#include "thalweg/dataset/commit/disk_share.h"

#include <algorithm>

#include "thalweg/base/units.h"
#include "thalweg/storage/probe.h"

namespace thalweg::dataset {
namespace {

// Below these there is nothing to gain.
constexpr std::uint64_t kLeastAllocationBytes = base::kMiB;
constexpr std::uint64_t kLeastBufferBytes = base::kMiB;
constexpr std::uint64_t kLeastPagesBytes = base::kMiB;
constexpr std::uint64_t kLeastSharedBytes = 8 * base::kMiB;

void lower(std::uint64_t& bytes, std::uint64_t share_bytes, std::uint64_t least_bytes) {
    bytes = std::min(bytes, std::max(share_bytes, least_bytes));
}

} // namespace

void fit_to_disk(std::uint64_t free_bytes, CommitOptions& commit, StagingOptions& staging) {
    lower(commit.allocate_ahead_bytes, free_bytes / 8, kLeastAllocationBytes);
    lower(commit.rows_budget_bytes, free_bytes / 32, kLeastBufferBytes);
    lower(staging.page_ring_bytes, free_bytes / 32, kLeastBufferBytes);
    lower(staging.memory_bytes, free_bytes / 32, kLeastBufferBytes);
}

void fit_to_disk(std::uint64_t free_bytes, model::LayoutOptions& layout) {
    lower(layout.table_page_bytes, free_bytes / kDiskOfPages, kLeastPagesBytes);
}

void fit_to_shared_memory(std::uint64_t free_bytes, StagingOptions& staging) {
    if (free_bytes / 2 >= kLeastSharedBytes) lower(staging.memory_bytes, free_bytes / 2, kLeastSharedBytes);
}

void fit_to_disk_of(std::string const& path, std::uint32_t nodes, CommitOptions& commit, StagingOptions& staging) {
    auto const space = storage::space_of(path);
    if (space.total_bytes > 0) fit_to_disk(space.free_bytes / nodes, commit, staging);
}

void fit_to_disk_of(std::string const& path, std::uint32_t nodes, model::LayoutOptions& layout) {
    auto const space = storage::space_of(path);
    if (space.total_bytes > 0) fit_to_disk(space.free_bytes / nodes, layout);
}

} // namespace thalweg::dataset
