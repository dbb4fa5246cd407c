// What is written behind the pages of a run begins behind the checksum of the last one, too.
#include <gtest/gtest.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::dataset {
namespace {

// Its checksum of 8 bytes lies on both sides of the end of a block, and a recovery after a power cut, which knows of no
// claims, begins to write at the next one.
TEST(EndOfPages, OfAnRNTupleIsBehindTheChecksumOfTheLastOne) {
    constexpr std::uint64_t kItems = 16, kEnd = 2 * base::kBlockBytes - 6;
    auto const head =
        format::rntuple::rntuple_format().make_head({{{"events", {testing::scalar("id", model::Scalar::uint64)}, ""}}},
                                                    {.wide_codec = "none", .narrow_codec = "none"}, {});
    auto const file = storage::make_memory_storage("run.root");
    file->resize(base::kMiB);
    std::shared_ptr const storage = storage::make_memory_storage("run.root.journal");
    auto journal = JournalWriter::begin(storage, model::to_json(head));
    journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    std::vector<std::uint64_t> const items(kItems, 7);
    auto const bytes = std::as_bytes(std::span(items));
    auto const checksum = base::xxh3(bytes);
    PageRecord page{};
    page.count = kItems;
    page.offset = kEnd - bytes.size();
    page.stored_bytes = bytes.size();
    page.checksum = checksum;
    file->write(page.offset, bytes);
    file->write(kEnd, std::as_bytes(std::span(&checksum, 1)));
    journal.append(RecordType::pages, page);
    journal.append(RecordType::barrier, BarrierRecord{journal.size_bytes()});
    auto const gathered = gather(storage, *file, RunState::ended);
    EXPECT_EQ(gathered.report.damaged_pages, 0u);
    EXPECT_EQ(gathered.facts.end_offset, kEnd + sizeof checksum);
}

} // namespace
} // namespace thalweg::dataset
