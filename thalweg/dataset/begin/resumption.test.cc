// Which runs can be resumed; what is in them afterwards is in the tests of units and of producers.
#include "thalweg/dataset/begin/resumption.h"

#include <csignal>
#include <gtest/gtest.h>

#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class Resume : public ::testing::TestWithParam<char const*> {};

TEST_P(Resume, IsOfUnfinishedRunsAlone) {
    Directory const directory;
    auto const path = directory.file(std::string("run") + GetParam());
    auto const writer = Writer::create(path, pulses(4), {});
    EXPECT_NE(message_of([&] { Writer::resume(path, {}, {}); }), "") << "it is being written";
    writer->close(kTimeoutNs);
    EXPECT_NE(message_of([&] { Writer::resume(path, {}, {}); }).find("nothing to resume"), std::string::npos);
    CreateOptions options;
    options.force = true;
    Writer::create(path, pulses(4), options)->abandon();
    EXPECT_NE(message_of([&] { Writer::resume(path, pulses(3), {}); }).find("another schema"), std::string::npos);
    Writer::resume(path, {}, {})->close(kTimeoutNs);
}

TEST_P(Resume, SaysThatMemoryWasLost) {
    Directory const directory;
    auto const path = directory.file(std::string("run") + GetParam());
    run_until_killed([&] {
        CreateOptions options;
        options.commit.flush_interval_ns = 3600'000'000'000;
        auto const writer = Writer::create(path, pulses(4), options);
        auto producer = writer->producer("pulses");
        PulseRows(0, 0, 100, 4).append_to(producer);
        ::raise(SIGKILL);
    });
    RunPlace const place(path);
    // As after a restart of the machine.
    remove_memory_of(*place.run_id(), place, place.open_journal(storage::OpenMode::read_only));
    auto const report = Writer::resume(path, {}, {})->close(kTimeoutNs).report;
    EXPECT_TRUE(report.rows_may_be_missing);
    ASSERT_EQ(report.notes.size(), 1);
    EXPECT_NE(report.notes[0].find("the memory of its producers is gone"), std::string::npos) << report.notes[0];
}

INSTANTIATE_TEST_SUITE_P(All, Resume, ::testing::Values(".h5", ".root"),
                         [](auto const& name) { return std::string(name.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
