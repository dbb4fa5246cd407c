#include "thalweg/dataset/run/staging.h"

#include <atomic>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/staging_memory.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

struct StagingTest : ::testing::Test {
    std::vector<model::Column> columns = model::flatten(pulses(16).tables[0]);
    model::TableLayout layout = model::plan_layout(columns, {1 << 10, 256, 4 << 20, 4 << 10});
    StagingOptions options{1 << 10, 3, 8};
    std::shared_ptr<base::SharedMemory> memory = std::make_shared<base::SharedMemory>(
        base::SharedMemory::create_private(plan_staging(columns, layout, options).size_bytes));
    Staging staging = Staging::format(memory, columns, layout, options);
    StagingMemory blocks{staging, columns, layout, options};

    // Behind what was published before. Cut by page, as the producer does it.
    bool publish(std::size_t column, std::uint64_t count) {
        auto& state = staging.column(column);
        for (auto item = state.published.load(); count > 0; --count, ++item) {
            if (blocks.room(column).empty() && !blocks.extend(column)) return false;
            std::memset(blocks.room(column).data(), static_cast<int>(item % 251), state.item_bytes);
            blocks.advance(column, state.item_bytes);
            state.published = item + 1;
            if ((item + 1) % state.page_items != 0) continue;
            blocks.cut(column);
            blocks.begin_page(column);
        }
        return true;
    }
    void release(std::size_t column, std::uint64_t items) {
        staging.column(column).released = items;
        blocks.release(column, items * staging.column(column).item_bytes);
    }
    void expect_items(std::size_t column, std::uint64_t first, std::vector<std::byte> const& bytes) {
        auto const size = columns[column].item_bytes();
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            ASSERT_EQ(std::to_integer<std::uint64_t>(bytes[at]), (first + at / size) % 251) << at;
        }
    }
};

TEST_F(StagingTest, TheRingIsFullAtItsSizeAndWraps) {
    std::vector<PageRecord> records;
    for (std::uint64_t round = 0; round < 10; ++round) {
        for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(staging.announce({0, 0, round * 8 + i}));
        EXPECT_FALSE(staging.announce({0, 0, 999}));
        records.clear();
        staging.read_announcements(records);
        ASSERT_EQ(records.size(), 8u);
        EXPECT_FALSE(staging.announce({0, 0, 999})) << "what is read is not dropped";
        for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(records[i].first, round * 8 + i);
        staging.drop_announcements(5);
        EXPECT_TRUE(staging.announce({0, 0, round * 8 + 8}));
        records.clear();
        staging.read_announcements(records);
        ASSERT_EQ(records.size(), 4u);
        EXPECT_EQ(records.back().first, round * 8 + 8);
        staging.drop_announcements(4);
    }
}

TEST(StagingMemory, GoesToWhatFillsFastest) {
    auto const table = model::Table{"events",
                                    {{"number", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", "", ""},
                                     {"hits",
                                      model::Kind::list,
                                      model::Scalar::float64,
                                      {},
                                      {{"",
                                        model::Kind::list,
                                        model::Scalar::float64,
                                        {},
                                        {{"", model::Kind::scalar, model::Scalar::uint8, {}, {}, "", "", ""}},
                                        "",
                                        "",
                                        ""}},
                                      "",
                                      "",
                                      ""}},
                                    ""};
    auto const columns = model::flatten(table); // number, lengths, lengths, bytes
    model::TableLayout layout;
    for (auto const& column : columns) layout.columns.push_back({(1 << 20) / column.item_bytes(), "none"});
    StagingOptions const options;
    auto memory = std::make_shared<base::SharedMemory>(
        base::SharedMemory::create_private(plan_staging(columns, layout, options).size_bytes));
    auto const staging = Staging::format(memory, columns, layout, options);
    EXPECT_EQ(staging.column(0).blocks, options.min_buffers);
    EXPECT_EQ(staging.column(2).blocks, options.min_buffers);
    EXPECT_GE(staging.column(3).blocks, 14u) << "of 16 MiB";
    EXPECT_LE(memory->size(), options.page_ring_bytes + (10u << 20));
}

TEST_F(StagingTest, OneThreadAnnouncesWhileAnotherReads) {
    constexpr std::uint64_t kPages = 5'000;
    std::jthread const producer([&] {
        for (std::uint64_t i = 0; i < kPages;) {
            if (staging.announce({0, 0, i}))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::uint64_t next = 0;
    std::vector<PageRecord> records;
    while (next < kPages) {
        records.clear();
        staging.read_announcements(records);
        for (auto const& record : records) ASSERT_EQ(record.first, next++);
        staging.drop_announcements(records.size());
        if (records.empty()) std::this_thread::yield();
    }
}

TEST_F(StagingTest, BlocksAreUsedAgainBehindWhatIsReleased) {
    auto const& column = staging.column(2);
    for (std::uint64_t page = 0; page < 5 * column.blocks; ++page) {
        ASSERT_TRUE(publish(2, column.page_items));
        auto const end = (page + 1) * column.page_items;
        auto const from = page > 0 ? end - column.page_items - column.page_items / 2 : 0;
        auto const bytes = staging.copy_items(2, from, end - from);
        ASSERT_TRUE(bytes);
        expect_items(2, from, *bytes);
        if (page > 0) release(2, page * column.page_items);
    }
    EXPECT_FALSE(publish(2, column.blocks * column.page_items)) << "what is not released is not used again";
}

TEST_F(StagingTest, WhatIsReleasedIsNotCopied) {
    ASSERT_TRUE(publish(1, 20));
    EXPECT_TRUE(staging.copy_items(1, 4, 10));
    release(1, 4);
    EXPECT_TRUE(staging.copy_items(1, 4, 10));
    release(1, 5);
    EXPECT_FALSE(staging.copy_items(1, 4, 10));
}

// The producer goes round and round meanwhile: a copy is right, or there is none.
TEST_F(StagingTest, ACopyThatWasOvertakenIsThrownAway) {
    auto& column = staging.column(2);
    std::atomic<bool> done = false;
    std::jthread const producer([&] {
        for (std::uint64_t page = 0; !done; ++page) {
            publish(2, column.page_items);
            // As the producer does: released, and only then used again.
            if (page + 2 >= column.blocks) release(2, (page + 2 - column.blocks) * column.page_items);
        }
    });
    std::uint64_t copied = 0;
    auto const end_ns = base::monotonic_ns() + 20'000'000'000;
    while (copied < 200 && base::monotonic_ns() < end_ns) {
        auto const first = column.released.load();
        auto const end = column.published.load();
        if (end == first) continue;
        if (auto const bytes = staging.copy_items(2, first, end - first)) {
            expect_items(2, first, *bytes);
            ++copied;
        }
    }
    done = true;
    EXPECT_EQ(copied, 200u);
}

TEST_F(StagingTest, ASegmentOfAnotherTableIsRefused) {
    EXPECT_NO_THROW(Staging::open(memory, columns, layout));
    auto other = columns;
    other.pop_back();
    EXPECT_THROW(Staging::open(memory, other, layout), base::DataError);
    auto wide = layout;
    wide.columns[0].page_items *= 2;
    EXPECT_THROW(Staging::open(memory, columns, wide), base::DataError);
    auto const cut = std::make_shared<base::SharedMemory>(base::SharedMemory::create_private(4096));
    std::memcpy(cut->data(), memory->data(), 4096);
    EXPECT_THROW(Staging::open(cut, columns, layout), base::DataError);
    std::memset(memory->data(), 0, 8);
    EXPECT_THROW(Staging::open(memory, columns, layout), base::DataError);
}

TEST(Staging, AThousandColumnsStayWithinTheirMemory) {
    std::vector<model::Field> fields;
    for (int i = 0; i < 1000; ++i) fields.push_back(scalar("f" + std::to_string(i), model::Scalar::float64));
    auto const columns = model::flatten({"wide", fields, ""});
    auto const layout = model::plan_layout(columns, {});
    EXPECT_LE(plan_staging(columns, layout, {}).size_bytes, 100u << 20);
}

} // namespace
} // namespace thalweg::dataset
