// Several nodes write in regions of their file.
#include <sys/stat.h>

#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

TEST(RegionPlan, RegionsLieOneBehindTheOtherAndDouble) {
    RegionPlan const plan(10'000, 3, base::kMiB, 256 * base::kMiB);
    EXPECT_EQ(plan.region(0), (Region{0, 12'288, 16 * base::kMiB}));
    auto end = plan.region(0).end;
    for (std::uint32_t number = 1; number < 100; ++number) {
        auto const region = plan.region(number);
        EXPECT_EQ(region.begin, end);
        EXPECT_EQ(region.end - region.begin,
                  std::min(std::uint64_t{16} << number / 3, std::uint64_t{256}) * base::kMiB);
        end = region.end;
    }
}

TEST(RegionPlan, EveryExtentFitsIntoTheSmallest) {
    RegionPlan const plan(100 * base::kMiB, 2, 40 * base::kMiB, 4 * base::kMiB);
    EXPECT_EQ(plan.region(5).end - plan.region(5).begin, 256 * base::kMiB);
    EXPECT_EQ(plan.region(0).begin, 100 * base::kMiB); // nothing lies in front of the first offset
    RegionPlan const late(20 * base::kMiB, 1, base::kMiB, 16 * base::kMiB);
    EXPECT_EQ(late.region(0).begin, late.region(0).end);
}

// Rows of 8 KiB, in many regions.
class Regions : public Nodes {};

INSTANTIATE_TEST_SUITE_P(Containers, Regions, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

// As TFile::Map walks: from key to key, past gaps, whose size is negative.
void expect_chain(std::string const& path) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    std::uint64_t offset = 100;
    while (offset < file->size()) {
        std::array<std::byte, 4> bytes;
        file->read(offset, bytes);
        std::uint32_t number = 0;
        for (auto const byte : bytes) number = number << 8 | std::to_integer<std::uint32_t>(byte);
        auto const size = static_cast<std::int32_t>(number);
        ASSERT_NE(size, 0) << "at " << offset;
        offset += static_cast<std::uint64_t>(std::abs(size));
    }
    EXPECT_EQ(offset, file->size());
}

TEST_P(Regions, ThatAreNotFilledAreMarkedAndCostNoBlocks) {
    constexpr std::uint64_t kSamples = 4096;
    auto options = options_for(3);
    options.layout = {64 << 10, 64 << 10, 4 << 20, 4 << 20, "none", "none"};
    options.write.extent_bytes = 256 << 10;
    options.write.staging = {256 << 10, 3, 64, 4 << 20};
    options.commit.flush_interval_ns = 20'000'000;
    options.commit.allocate_ahead_bytes = 8 << 20;
    auto writers = begin(path_, options, pulses(kSamples));
    std::vector<std::future<void>> appending;
    constexpr std::uint64_t kRowsOf[] = {4000, 2500, 10};
    for (std::uint8_t i = 0; i < 3; ++i) {
        appending.push_back(std::async(std::launch::async, [&, i] {
            auto producer = writers[i]->producer("pulses");
            for (std::uint64_t row = 0; row < kRowsOf[i]; row += 10)
                PulseRows(i, row, 10, kSamples).append_to(producer);
            producer.finish();
        }));
    }
    for (auto& each : appending) each.get();
    EXPECT_GE(parts_.regions().size(), 7);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(verify(path_).faults, 0);
    auto const reader = Reader::open(path_);
    std::vector<std::uint8_t> producers(6510);
    std::vector<std::uint64_t> ids(6510);
    std::vector<std::uint16_t> waveforms(6510 * kSamples);
    reader->read(0, 0, {0, 6510}, std::as_writable_bytes(std::span(producers)));
    reader->read(0, 1, {0, 6510}, std::as_writable_bytes(std::span(ids)));
    reader->read(0, 2, {0, 6510}, std::as_writable_bytes(std::span(waveforms)));
    std::map<std::uint8_t, std::uint64_t> next;
    for (std::size_t row = 0; row < 6510; ++row) {
        ASSERT_EQ(ids[row], next[producers[row]]++);
        ASSERT_EQ(waveforms[row * kSamples + 77], sample(producers[row], ids[row], 77));
        ASSERT_EQ(waveforms[row * kSamples + 4095], sample(producers[row], ids[row], 4095));
    }
    for (std::uint8_t i = 0; i < 3; ++i) EXPECT_EQ(next[i], kRowsOf[i]);
    struct stat status {};
    ::stat(path_.c_str(), &status);
    EXPECT_LE(static_cast<std::uint64_t>(status.st_blocks) * 512, 6510 * (kSamples * 2 + 9) * 103 / 100);
    if (path_.ends_with(".root")) expect_chain(path_);
}

TEST(RegionGaps, BehindWhatIsKnownOfANodeThatDied) {
    RegionPlan const plan(4096, 2, base::kMiB, 16 * base::kMiB);
    model::RunFacts facts;
    model::Page page{};
    page.offset = 16 * base::kMiB + 8192;
    page.stored_bytes = 100;
    facts.tables = {{{0, {{page}}, {}, {}}}};
    facts.end_offset = 50 * base::kMiB;
    EXPECT_EQ(gaps_of(plan, {{0, base::kMiB, true}, {1, 16 * base::kMiB, false}, {2, 40 * base::kMiB, true}}, facts),
              (std::vector<Gap>{{base::kMiB, 16 * base::kMiB},
                                {16 * base::kMiB + 12288, 32 * base::kMiB},
                                {40 * base::kMiB, 50 * base::kMiB}}));
    // Whose record is lost: its pages stay.
    EXPECT_EQ(gaps_of(plan, {{0, 16 * base::kMiB, true}, {2, 50 * base::kMiB, true}}, facts),
              (std::vector<Gap>{{16 * base::kMiB + 12288, 32 * base::kMiB}, {48 * base::kMiB, 50 * base::kMiB}}));
}

} // namespace
} // namespace thalweg::dataset
