// What several nodes do without one of them.
#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class NodeDeath : public Nodes {};

INSTANTIATE_TEST_SUITE_P(Containers, NodeDeath, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST_P(NodeDeath, GoOnWithoutOneThatEnded) {
    for (std::size_t const ends : {1, 0}) {
        auto options = options_for(3);
        options.force = true;
        options.nodes.rules.goes_on = true;
        auto writers = begin(path_, options);
        append_on_all(writers);
        writers[ends]->abandon();
        std::vector<CompleteResult> results;
        auto const said = close_all(writers, &results);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(said[i].empty(), i != ends) << said[i];
        EXPECT_EQ(rows_in(path_), all_rows(3)); // what was appended, it had journaled
        EXPECT_FALSE(exists(parts_.path()));
        auto const& report = results[ends == 0 ? 1 : 0].report;
        auto const notes = fmt::format("{}", fmt::join(report.notes, "; "));
        EXPECT_NE(notes.find(fmt::format("went on without node {}", ends + 1)), std::string::npos) << notes;
        EXPECT_EQ(report.rows_may_be_missing, false) << notes;
        EXPECT_EQ(results[2].report.tables[0].rows, 3 * kRows);
    }
}

TEST_P(NodeDeath, OneThatIsTakenForDeadEnds) {
    auto options = options_for(2);
    options.nodes.rules.goes_on = true;
    auto writers = begin(path_, options);
    auto first = writers[0]->producer("events");
    append_events(first, 0, 0, kRows);
    auto producer = writers[1]->producer("events");
    parts_.announce(dead_name(1), "node 1 (here): it was silent");
    auto const said = message_of([&] {
        for (std::uint64_t row = 0;; row += 10) {
            append_events(producer, 1, row, 10);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
    EXPECT_NE(said.find("go on without this node"), std::string::npos) << said;
    first.finish();
    auto const result = writers[0]->close(kTimeoutNs);
    EXPECT_EQ(rows_in(path_).at(0), kRows);
    EXPECT_TRUE(result.report.rows_may_be_missing);
}

// Room for journals is reserved ahead, so their sizes do not tell that a node lives which has nothing to append.
TEST_P(NodeDeath, OneThatHasNothingToAppendIsNotTakenForDead) {
    auto options = options_for(2, 2'000'000'000);
    options.nodes.rules.goes_on = true;
    std::vector<std::future<std::unique_ptr<Writer>>> coming;
    coming.push_back(std::async(std::launch::async, [&] { return Writer::create(path_, events(), options); }));
    coming.push_back(std::async(std::launch::async, [&] { return Writer::join(path_, 1, joining(2'000'000'000)); }));
    Writers writers;
    for (auto& each : coming) writers.push_back(each.get());
    std::this_thread::sleep_for(std::chrono::seconds(6));
    for (auto const& writer : writers)
        EXPECT_TRUE(writer->dead_nodes().empty()) << writer->dead_nodes().begin()->second;
    append_on_all(writers);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

// The first of these notices it: the thread that takes a region, a flush, or the thread that looks for other nodes.
TEST_P(NodeDeath, ARegionThatIsTakenTooLateIsNotWritten) {
    auto options = options_for(2);
    options.nodes.rules.goes_on = true;
    auto writers = begin(path_, options);
    auto producer = writers[1]->producer("events");
    parts_.announce(kCompleting, "node 1");
    auto const said = message_of([&] {
        for (std::uint64_t row = 0; row < 100'000'000; row += 10'000) append_events(producer, 1, row, 10'000);
    });
    EXPECT_NE(said.find("without this node"), std::string::npos) << said;
    EXPECT_LE(parts_.regions().size(), 4);
}

} // namespace
} // namespace thalweg::dataset
