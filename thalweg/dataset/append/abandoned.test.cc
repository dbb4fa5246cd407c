#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class Abandoned : public ::testing::TestWithParam<char const*> {
  protected:
    Directory directory;
    std::string path = directory.file(std::string("run") + GetParam());
    std::unique_ptr<Writer> writer = Writer::create(path, pulses(3), {});
};

void expect_abandoned(RunReport const& report, std::string const& reason) {
    EXPECT_EQ(report.producers_abandoned, 1u);
    EXPECT_EQ(report.producers_lost, 0u);
    ASSERT_EQ(report.abandoned.size(), 1u);
    EXPECT_EQ(report.abandoned[0].rows, 10u);
    EXPECT_EQ(report.abandoned[0].reason, reason);
    EXPECT_EQ(report.tables[0].lost_rows, 0u);
    auto const said = [&](std::string const& note) { return note.find("was abandoned behind 10 rows") != note.npos; };
    EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), said));
}

TEST_P(Abandoned, KeepsItsRowsAndIsReported) {
    auto other = writer->producer("pulses");
    PulseRows(1, 0, 20, 3).append_to(other);
    auto producer = writer->producer("pulses");
    PulseRows(0, 0, 10, 3).append_to(producer);
    producer.abandon("the detector said no");
    producer.abandon("and once more");
    EXPECT_NE(message_of([&] { PulseRows(0, 10, 1, 3).append_to(producer); }).find("takes no more rows"),
              std::string::npos);
    while (writer->status().ended[0].abandoned == 0) base::sleep_ns(1'000'000); // the committer has not met it yet
    auto const status = writer->status();
    ASSERT_EQ(status.abandoned.size(), 1u);
    EXPECT_EQ(status.abandoned[0].reason, "the detector said no");
    EXPECT_EQ(status.abandoned[0].rows, 10u);
    EXPECT_EQ(status.ended[0].died, 0u);
    other.finish();
    auto const result = writer->close(kTimeoutNs);
    expect_abandoned(result.report, "the detector said no");
    EXPECT_EQ(result.report.tables[0].rows, 30u);
    EXPECT_EQ(Reader::open(path)->rows(0), 30u);
}

TEST_P(Abandoned, OneReasonOfSeveralIsSaidOnce) {
    for (int i = 0; i < 3; ++i) {
        auto producer = writer->producer("pulses");
        PulseRows(i, 0, 10 + i, 3).append_to(producer);
        producer.abandon(i == 1 ? "a cable is loose" : "the detector said no");
    }
    auto const report = writer->close(kTimeoutNs).report;
    EXPECT_EQ(report.abandoned.size(), 3u);
    EXPECT_EQ(report.notes, (std::vector<std::string>{
                                "2 producers were abandoned (the detector said no): producer 0 of table 'pulses' "
                                "behind 10 rows, producer 2 of table 'pulses' behind 12 rows",
                                "producer 1 of table 'pulses' was abandoned behind 11 rows (a cable is loose)"}));
}

TEST_P(Abandoned, IsWhatAnExceptionLeavesOnItsWay) {
    try {
        auto producer = writer->producer("pulses");
        PulseRows(0, 0, 10, 3).append_to(producer);
        throw std::runtime_error("somewhere else");
    } catch (std::runtime_error const&) {
    }
    { auto const ordinary = writer->producer("pulses"); }
    expect_abandoned(writer->close(kTimeoutNs).report, "an exception left the block that had it");
}

TEST_P(Abandoned, IsKnownAfterEverythingWasKilled) {
    writer->close(kTimeoutNs);
    auto const child = ::fork();
    if (child == 0) {
        CreateOptions options;
        options.force = true;
        auto const run = Writer::create(path, pulses(3), options);
        auto producer = run->producer("pulses");
        PulseRows(0, 0, 10, 3).append_to(producer);
        producer.abandon("the detector said no");
        ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    expect_abandoned(recover(path).report, "the detector said no");
}

TEST_P(Abandoned, ATextThatIsTooLongIsCutBetweenLetters) {
    std::string text = "x";
    while (text.size() < 1000) text += "\u00e4";
    auto producer = writer->producer("pulses");
    producer.abandon(text);
    auto const report = writer->close(kTimeoutNs).report;
    ASSERT_EQ(report.abandoned.size(), 1u);
    EXPECT_EQ(report.abandoned[0].reason, text.substr(0, 255));
}

TEST_P(Abandoned, TenAreNamedAndAllAreCounted) {
    for (int i = 0; i < 30; ++i) writer->producer("pulses").abandon("no " + std::to_string(i));
    auto const report = writer->close(kTimeoutNs).report;
    EXPECT_EQ(report.producers_abandoned, 30u);
    EXPECT_EQ(report.abandoned.size(), 10u);
    EXPECT_EQ(report.notes.back(), "30 producers were abandoned in all");
}

INSTANTIATE_TEST_SUITE_P(All, Abandoned, ::testing::Values(".h5", ".root"),
                         [](auto const& name) { return std::string(name.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
