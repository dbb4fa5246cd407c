#include "thalweg/dataset/writer.h"

#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/dataset/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

TEST(Writer, TwoThreadsWriteOneFile) {
    Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), pulses(1000), {});
    {
        std::vector<std::jthread> threads;
        for (std::uint8_t who = 0; who < 2; ++who) {
            threads.emplace_back([&, who] {
                auto producer = writer->producer("pulses");
                for (std::uint64_t row = 0; row < 5000; row += 7) {
                    PulseRows(who, row, std::min<std::uint64_t>(7, 5000 - row), 1000).append_to(producer);
                }
                producer.finish();
            });
        }
    }
    auto const result = writer->close(kTimeoutNs);
    EXPECT_EQ(result.report.tables[0].rows, 10000u);
    EXPECT_EQ(result.report.tables[0].lost_rows, 0u);
    EXPECT_EQ(result.report.producers, 2u);
    EXPECT_FALSE(std::filesystem::exists(directory.file("run.h5.journal")));
}

} // namespace
} // namespace thalweg::dataset
