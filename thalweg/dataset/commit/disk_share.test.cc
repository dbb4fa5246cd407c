#include "thalweg/dataset/commit/disk_share.h"

#include <gtest/gtest.h>

#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

TEST(DiskShare, ASmallDiskIsNotSpentOnReserves) {
    CommitOptions commit;
    StagingOptions staging;
    fit_to_disk(80 * base::kMiB, commit, staging);
    EXPECT_EQ(commit.allocate_ahead_bytes, 10 * base::kMiB);
    EXPECT_EQ(commit.rows_budget_bytes, 5 * base::kMiB / 2);
    EXPECT_EQ(staging.page_ring_bytes, 5 * base::kMiB / 2);
    EXPECT_EQ(staging.memory_bytes, 5 * base::kMiB / 2);
}

TEST(DiskShare, OfADiskThatIsFullTheLeastIsKept) {
    CommitOptions commit;
    StagingOptions staging;
    fit_to_disk(0, commit, staging);
    EXPECT_EQ(commit.allocate_ahead_bytes, base::kMiB);
    EXPECT_EQ(commit.rows_budget_bytes, base::kMiB);
    EXPECT_EQ(staging.page_ring_bytes, base::kMiB);
}

TEST(DiskShare, OnASmallDiskPagesOfATableAreSmaller) {
    model::LayoutOptions layout;
    layout.table_page_bytes = 32 * base::kMiB;
    fit_to_disk(1024 * base::kMiB, layout);
    EXPECT_EQ(layout.table_page_bytes, 16 * base::kMiB);
    fit_to_disk(128 * base::kMiB, layout);
    EXPECT_EQ(layout.table_page_bytes, 2 * base::kMiB);
    fit_to_disk(20 * base::kMiB, layout);
    EXPECT_EQ(layout.table_page_bytes, base::kMiB);
}

TEST(DiskShare, HalfOfASmallSharedMemoryIsLeftToOthers) {
    StagingOptions staging;
    fit_to_shared_memory(64 * base::kMiB, staging);
    EXPECT_EQ(staging.memory_bytes, 32 * base::kMiB);
    fit_to_shared_memory(1000 * base::kMiB, staging);
    EXPECT_EQ(staging.memory_bytes, 32 * base::kMiB) << "nothing is raised";
    fit_to_shared_memory(10 * base::kMiB, staging);
    EXPECT_EQ(staging.memory_bytes, 32 * base::kMiB) << "it has no room there, and goes to the folder";
}

TEST(DiskShare, ALargeDiskChangesNothingAndNothingIsRaised) {
    CommitOptions commit{.allocate_ahead_bytes = base::kMiB};
    StagingOptions staging;
    auto const before = staging.page_ring_bytes;
    fit_to_disk(1000 * base::kGiB, commit, staging);
    EXPECT_EQ(commit.allocate_ahead_bytes, base::kMiB);
    EXPECT_EQ(commit.rows_budget_bytes, CommitOptions{}.rows_budget_bytes);
    EXPECT_EQ(staging.page_ring_bytes, before);
}

} // namespace
} // namespace thalweg::dataset
