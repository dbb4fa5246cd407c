#include "thalweg/dataset/append/staging_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kBudget = 2 * base::kMiB;

// A table whose columns share their memory: one takes 8 bytes, the other 120 a row.
struct Shared {
    // `name`: of the memory; private if empty.
    explicit Shared(std::uint64_t memory_bytes = kBudget, std::uint64_t page_bytes = 64 << 10,
                    std::string const& name = "") {
        options.memory_bytes = memory_bytes;
        model::LayoutOptions wanted;
        wanted.narrow_page_bytes = page_bytes;
        layout = model::plan_cluster_layout(columns, wanted);
        auto const plan = plan_staging(columns, layout, options);
        memory =
            std::make_shared<base::SharedMemory>(name.empty() ? base::SharedMemory::create_private(plan.size_bytes)
                                                              : base::SharedMemory::create(name, plan.memory_size()));
        staging = std::make_unique<Staging>(Staging::format(memory, columns, layout, options));
        blocks = std::make_unique<StagingMemory>(*staging, columns, layout, options);
    }

    // Bytes that follow from their place, as far as there is memory.
    std::uint64_t fill(std::size_t column, std::uint64_t size_bytes) {
        std::uint64_t filled = 0;
        while (filled < size_bytes && (!blocks->room(column).empty() || blocks->extend(column))) {
            auto const room = blocks->room(column);
            auto const bytes = std::min<std::uint64_t>(room.size(), size_bytes - filled);
            for (std::uint64_t i = 0; i < bytes; ++i) room[i] = static_cast<std::byte>((blocks->end(column) + i) % 253);
            blocks->advance(column, bytes);
            filled += bytes;
        }
        auto& state = staging->column(column);
        state.published = blocks->end(column) / state.item_bytes;
        return filled;
    }
    void release(std::size_t column, std::uint64_t items) {
        staging->column(column).released = items;
        blocks->release(column, items * staging->column(column).item_bytes);
    }
    void expect_items(std::size_t column, std::uint64_t first, std::uint64_t count) {
        auto const copied = staging->copy_items(column, first, count);
        ASSERT_TRUE(copied);
        auto const begin = first * staging->column(column).item_bytes;
        for (std::size_t i = 0; i < copied->size(); ++i)
            ASSERT_EQ(std::to_integer<std::uint64_t>((*copied)[i]), (begin + i) % 253) << i;
    }

    std::vector<model::Column> columns =
        model::flatten({"t", {scalar("a", model::Scalar::uint64), scalar("b", model::Scalar::uint64, {15})}, ""});
    model::TableLayout layout;
    StagingOptions options;
    std::shared_ptr<base::SharedMemory> memory;
    std::unique_ptr<Staging> staging;
    std::unique_ptr<StagingMemory> blocks;
};

TEST(StagingMemory, MovesIntoHugePagesAndTakesNoMoreThanItsBudgetForThem) {
    constexpr std::uint64_t kEnough = 32 * base::kMiB;
    auto const name = fmt::format("thalweg-test-staging-{}", ::getpid());
    Shared table(kEnough, 64 << 10, name);
    auto const rows = table.fill(1, 20 * base::kMiB) / 120;
    if (!table.blocks->is_in_huge_pages()) GTEST_SKIP() << "this system gives no huge pages";
    auto const allocated = [&] {
        struct stat status {};
        EXPECT_EQ(::stat(base::SharedMemory::path_of(name).c_str(), &status), 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    };
    auto const plan = plan_staging(table.columns, table.layout, table.options);
    auto const head_bytes = plan.begin_bytes - plan.least_bytes;
    EXPECT_EQ(allocated(), head_bytes + table.staging->head().allocated_bytes);
    table.expect_items(1, 0, rows);
    table.release(1, rows / 2);
    table.blocks->give_back(true);
    table.expect_items(1, rows / 2, rows - rows / 2);
    EXPECT_LT(table.staging->head().allocated_bytes, 16 * base::kMiB);
    EXPECT_GT(table.fill(1, 30 * base::kMiB), 16 * base::kMiB);
    table.expect_items(1, rows / 2, rows - rows / 2);
    EXPECT_EQ(allocated(), head_bytes + table.staging->head().allocated_bytes);
}

TEST(StagingMemory, ColumnsTakeWhatTheyNeedWithinTheBudget) {
    Shared table;
    EXPECT_EQ(table.fill(0, 8 * 1000), 8000u);
    auto const rest = table.fill(1, 100 * base::kMiB);
    EXPECT_GT(rest, kBudget / 8 * 7) << "one column may have nearly all of it";
    EXPECT_LE(table.staging->head().allocated_bytes, kBudget);
    table.expect_items(0, 0, 1000);
    table.expect_items(1, 0, rest / 120);
    auto const half = rest / 240;
    table.release(1, half);
    EXPECT_EQ(table.staging->copy_items(1, half - 1, 1), std::nullopt);
    table.expect_items(1, half, rest / 120 - half);
    EXPECT_GT(table.fill(0, base::kMiB), kBudget / 4) << "what one has released another may have";
    table.expect_items(1, half, rest / 120 - half);
}

TEST(StagingMemory, AChainThatIsCutAndEmptyHoldsNoBlock) {
    Shared table;
    for (int round = 0; round < 100; ++round) {
        for (std::size_t column = 0; column < 2; ++column) {
            ASSERT_EQ(table.fill(column, 120 * 1500), 120u * 1500);
            table.blocks->cut(column);
            table.blocks->begin_page(column);
        }
        EXPECT_EQ(table.blocks->open_bytes(), 0u);
        for (std::size_t column = 0; column < 2; ++column) {
            auto const end = table.staging->column(column).published.load();
            table.release(column, end);
            EXPECT_EQ(static_cast<std::uint32_t>(table.staging->column(column).chain), kNoBlock);
        }
    }
    EXPECT_LE(table.staging->head().allocated_bytes, 2 * base::kMiB);
}

TEST(StagingMemory, ProducersOfAProcessShareTheBudget) {
    Shared first;
    first.fill(0, 100 * base::kMiB);
    EXPECT_EQ(MemoryShare::taken_in_process(), kBudget);
    Shared second;
    EXPECT_GE(second.fill(0, 100 * base::kMiB), kBudget / 2) << "it has its part, as if it was the first";
    EXPECT_EQ(MemoryShare::taken_in_process(), kBudget / 2 * 3);
    EXPECT_LE(first.blocks->most_bytes(), kBudget / 2);
    first.blocks->give_back(false);
    EXPECT_EQ(MemoryShare::taken_in_process(), kBudget / 2 * 3) << "nothing of it is free";
    first.release(0, first.staging->column(0).published - 1);
    first.blocks->give_back(false);
    EXPECT_EQ(MemoryShare::taken_in_process(), kBudget);
    EXPECT_EQ(first.fill(0, 100 * base::kMiB) / base::kKiB, (kBudget / 2 - (64 << 10)) / base::kKiB)
        << "what was given back stays there for the other one";
    first.expect_items(0, first.staging->column(0).released, first.fill(0, 0) + 1);
    first.blocks.reset();
    second.fill(0, 100 * base::kMiB);
    EXPECT_EQ(MemoryShare::taken_in_process(), kBudget);
    second.blocks.reset();
    EXPECT_EQ(MemoryShare::taken_in_process(), 0u);
}

// A table whose columns have blocks of their own: pages of 8 and of 64 KiB.
struct Own {
    explicit Own(std::uint64_t memory_bytes) {
        options.memory_bytes = memory_bytes;
        options.page_ring_bytes = kBudget;
        layout.columns = {{1024, "none"}, {512, "none"}};
        auto const plan = plan_staging(columns, layout, options);
        memory = std::make_shared<base::SharedMemory>(base::SharedMemory::create_private(plan.size_bytes));
        staging = std::make_unique<Staging>(Staging::format(memory, columns, layout, options));
        blocks = std::make_unique<StagingMemory>(*staging, columns, layout, options);
    }

    // Whole pages, as far as there is memory.
    std::uint64_t fill(std::size_t column) {
        std::uint64_t pages = 0;
        for (; blocks->extend(column); ++pages) {
            auto const room = blocks->room(column);
            std::fill(room.begin(), room.end(), static_cast<std::byte>(7 * pages + column));
            blocks->advance(column, room.size());
            blocks->cut(column);
        }
        staging->column(column).published = blocks->end(column) / staging->column(column).item_bytes;
        return pages;
    }
    void expect_pages(std::size_t column, std::uint64_t pages) const {
        auto const items = staging->column(column).page_items;
        for (std::uint64_t page = 0; page < pages; ++page) {
            auto const copied = staging->copy_items(column, page * items, items);
            ASSERT_TRUE(copied);
            for (auto const byte : *copied) ASSERT_EQ(byte, static_cast<std::byte>(7 * page + column)) << page;
        }
    }

    std::vector<model::Column> columns =
        model::flatten({"t", {scalar("a", model::Scalar::uint64), scalar("b", model::Scalar::uint64, {16})}, ""});
    model::TableLayout layout;
    StagingOptions options;
    std::shared_ptr<base::SharedMemory> memory;
    std::unique_ptr<Staging> staging;
    std::unique_ptr<StagingMemory> blocks;
};

constexpr std::uint64_t kOwnPages = (8 + 64) << 10; // one of each column

TEST(StagingMemory, ColumnsOfTheirOwnHaveOneBlockFirstAndMoreWithinTheBudget) {
    Own table(64 * base::kMiB);
    EXPECT_EQ(MemoryShare::taken_in_process(), kOwnPages);
    EXPECT_EQ(table.blocks->need_beyond_budget(), std::nullopt);
    auto const planned = table.staging->column(0).blocks;
    EXPECT_EQ(table.fill(0), planned) << "all that page_ring_bytes has room for";
    EXPECT_EQ(table.fill(1), table.staging->column(1).blocks);
    EXPECT_EQ(MemoryShare::taken_in_process(), table.staging->head().allocated_bytes);
    EXPECT_LE(MemoryShare::taken_in_process(), kBudget);
    EXPECT_EQ(table.blocks->extend(0), false);
    table.expect_pages(0, planned);
    table.expect_pages(1, table.staging->column(1).blocks);
}

TEST(StagingMemory, NoColumnTakesWhatAnotherOneHasToHave) {
    Own table(kBudget / 4);
    auto const planned = table.staging->column(0).blocks;
    EXPECT_LE(table.fill(0), planned / 4 + 1);
    EXPECT_GE(table.fill(1), planned / 4 - 1) << "its part is still there";
    EXPECT_LE(MemoryShare::taken_in_process(), kBudget / 4);
}

TEST(StagingMemory, ColumnsOfTheirOwnGiveBackWhatOthersWaitFor) {
    Own first(kBudget);
    auto const alone = first.fill(0);
    auto const alone_b = first.fill(1);
    for (std::size_t column : {0u, 1u}) {
        auto& state = first.staging->column(column);
        state.released = state.published.load();
        first.blocks->release(column, first.blocks->end(column));
    }
    EXPECT_GT(MemoryShare::taken_in_process(), kBudget / 8 * 7);
    Own second(kBudget);
    first.blocks->give_back(false);
    EXPECT_GE(second.fill(0), alone / 2 - 1);
    EXPECT_GE(second.fill(1), alone_b / 2 - 1);
    first.blocks->give_back(false);
    EXPECT_LE(MemoryShare::taken_in_process(), kBudget);
    EXPECT_GE(first.fill(1), alone_b / 2 - 1) << "of every column its part stays";
    first.blocks->give_back(true);
    first.blocks.reset();
    second.blocks.reset();
    EXPECT_EQ(MemoryShare::taken_in_process(), 0u);
}

TEST(StagingMemory, NeedIsThatOfAllProducersOfTheProcess) {
    Own const first(kOwnPages * 2);
    Own const second(kOwnPages * 2);
    EXPECT_EQ(second.blocks->need_beyond_budget(), std::nullopt);
    Own const third(kOwnPages * 2);
    auto const need = third.blocks->need_beyond_budget();
    ASSERT_TRUE(need);
    EXPECT_EQ(need->bytes, kOwnPages * 3);
    EXPECT_EQ(need->producers, 3u);
}

// As a unit that is dropped leaves it.
TEST(StagingMemory, WhatIsTruncatedIsWrittenAgain) {
    Shared table(kBudget, 64 << 10);
    std::uint64_t end = 0;
    for (int round = 0; round < 200; ++round) {
        ASSERT_GT(table.fill(1, 120 * 1000), 0u) << round;
        table.blocks->truncate(1, end);
        ASSERT_EQ(table.fill(1, 120 * 10), 1200u);
        end += 1200;
        table.expect_items(1, 0, end / 120);
        if (round % 20 != 0) continue;
        table.blocks->cut(1);
        EXPECT_EQ(table.blocks->open_bytes(), 0u);
    }
    table.expect_items(1, 0, end / 120);
}

// A lane releases pages while the producer fills others, and the committer copies.
TEST(StagingMemory, CopiesAreRightWhileBlocksGoFromColumnToColumn) {
    Shared table;
    std::atomic<bool> done = false;
    std::jthread const producer([&] {
        std::mt19937 random(7);
        while (!done) {
            auto const column = random() % 2;
            auto& state = table.staging->column(column);
            table.fill(column, 120 * (1 + random() % 3000));
            table.blocks->begin_page(column);
            if (random() % 3 == 0) table.blocks->cut(column);
            auto const released = state.released.load(), published = state.published.load();
            table.release(column, released + random() % (published - released + 1));
        }
    });
    std::uint64_t copied = 0;
    auto const end_ns = base::monotonic_ns() + 20'000'000'000;
    for (std::size_t column = 0; copied < 300 && base::monotonic_ns() < end_ns; column = 1 - column) {
        auto const& state = table.staging->column(column);
        auto const first = state.released.load(), end = state.published.load();
        if (end <= first) continue;
        auto const bytes = table.staging->copy_items(column, first, end - first);
        if (!bytes) continue;
        auto const begin = first * state.item_bytes;
        for (std::size_t i = 0; i < bytes->size(); ++i)
            ASSERT_EQ(std::to_integer<std::uint64_t>((*bytes)[i]), (begin + i) % 253) << column << ", " << i;
        ++copied;
    }
    done = true;
    EXPECT_EQ(copied, 300u);
}

} // namespace
} // namespace thalweg::dataset
