#include "thalweg/dataset/append/lane.h"

#include <gtest/gtest.h>
#include <numeric>

#include "thalweg/base/units.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/format/page_decoder.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// A run in memory with one column of numbers, and the memory of one producer.
struct LaneTest : ::testing::TestWithParam<format::Format const*> {
    LaneTest() {
        run.format = GetParam();
        model::LayoutOptions layout;
        layout.narrow_codec = "zstd-1";
        run.head = run.format->make_head({{{"t", {scalar("x", model::Scalar::uint64)}, ""}}}, layout, {});
        run.file = storage::make_memory_storage("run");
        run.ledger = Ledger::create(run.head.id, "run", false, base::kMiB);
        run.ledger->head().claimable = base::kGiB;
        memory = std::make_shared<base::SharedMemory>(base::SharedMemory::create_private(
            plan_staging(run.head.columns[0], run.head.layouts[0], run.options.staging).size_bytes));
        staging = std::make_unique<Staging>(
            Staging::format(memory, run.head.columns[0], run.head.layouts[0], run.options.staging));
        blocks =
            std::make_unique<StagingMemory>(*staging, run.head.columns[0], run.head.layouts[0], run.options.staging);
        announcer = std::make_unique<Announcer>(*staging, *blocks, 0);
    }

    OpenRun run;
    std::shared_ptr<base::SharedMemory> memory;
    std::unique_ptr<Staging> staging;
    std::unique_ptr<StagingMemory> blocks;
    std::unique_ptr<Announcer> announcer;
};

// As they come from other files, say.
TEST_P(LaneTest, PagesThatAreEncodedAlreadyEnterAsTheyAre) {
    std::vector<std::uint64_t> values(1000);
    std::iota(values.begin(), values.end(), 7);
    TableEncoder encoder(run.head.columns[0], run.head.layouts[0]);
    std::vector<std::byte> stored(encoder.bound_bytes(0, values.size() * 8));
    auto const encoded = encoder.encode(0, std::as_bytes(std::span(values)), 0, stored);
    ASSERT_TRUE(encoded.by_codec);
    stored.resize(encoded.stored_bytes);

    Lane lane(run, *staging, *blocks, *announcer, 0, 0, run.while_waiting);
    for (std::uint64_t i = 0; i < 3; ++i) {
        lane.add_stored(
            {.column = 0, .first = i * values.size(), .count = values.size(), .stored_bytes = stored.size()}, stored);
    }
    lane.drain();
    std::vector<PageRecord> records;
    staging->read_announcements(records);
    ASSERT_EQ(records.size(), 3u);
    format::PageDecoder decoder;
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].first, i * values.size());
        model::Page page;
        page.count = records[i].count;
        page.offset = records[i].offset;
        page.stored_bytes = records[i].stored_bytes;
        page.raw_bytes = values.size() * 8;
        page.checksum = records[i].checksum;
        page.encoded = records[i].encoded != 0;
        std::vector<std::uint64_t> read(values.size());
        decoder.decode(page, *run.file, {model::Scalar::uint64, 8}, run.head.layouts[0].columns[0].codec, true,
                       std::as_writable_bytes(std::span(read)));
        EXPECT_EQ(read, values);
    }
    EXPECT_EQ(staging->column(0).released, 3 * values.size());
}

INSTANTIATE_TEST_SUITE_P(Both, LaneTest,
                         ::testing::Values(&format::hdf5::files::hdf5_format(), &format::rntuple::rntuple_format()),
                         [](auto const& each) { return each.index == 0 ? "hdf5" : "rntuple"; });

} // namespace
} // namespace thalweg::dataset
