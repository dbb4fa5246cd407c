// What work units leave in the finished file, keys and summaries, is part of what is kept free for the close.
#include <gtest/gtest.h>
#include <random>

#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class UnitsOnFullDisk : public ::testing::TestWithParam<bool> {};

// Two rows and a long summary that does not shrink: the summaries are most of the file.
TEST_P(UnitsOnFullDisk, TheRunIsClosedWithWhatItHas) {
    auto const container = GetParam() ? rntuple_container() : hdf5_container();
    std::mt19937_64 random(5);
    std::string summary(60'000, ' ');
    for (auto& byte : summary) byte = static_cast<char>(random());
    storage::FaultPlan plan;
    plan.space_bytes = 90 << 20;
    auto const faults = std::make_shared<storage::Faults>(plan);
    auto const make_file = [&](std::string const& path) {
        return std::make_shared<storage::FaultyStorage>(storage::make_memory_storage(path), faults);
    };
    auto const file = make_file(container.path), journal = make_file(container.journal_path());
    auto const segments = std::make_shared<FaultySegments>(faults);
    auto const writer =
        Writer::create_on(file, {journal, segments}, container.format, container.head(), small_run_options());
    std::uint64_t committed = 0;
    auto const said = message_of([&] {
        for (std::int64_t key = 0; key < 2000; ++key) {
            summary[0] = static_cast<char>(key);
            auto unit = writer->work_unit(key, summary);
            append_events(unit["events"], 0, static_cast<std::uint64_t>(key) * 200, 200);
            committed += unit.commit() ? 1 : 0;
        }
    });
    EXPECT_NE(said.find("No space left"), std::string::npos) << said;
    EXPECT_GT(committed, 20u);
    auto const closed = message_of([&] { EXPECT_EQ(writer->close(kTimeoutNs).report.units, committed); });
    EXPECT_EQ(closed, "");
    EXPECT_TRUE(container.is_complete(*file));
}

INSTANTIATE_TEST_SUITE_P(Containers, UnitsOnFullDisk, ::testing::Bool(),
                         [](auto const& each) { return each.param ? "root" : "h5"; });

} // namespace
} // namespace thalweg::dataset
