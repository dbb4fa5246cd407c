// Several nodes write one file.
#include "thalweg/dataset/begin/set_aside.h"
#include "thalweg/dataset/nodes/meeting.h"
#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

INSTANTIATE_TEST_SUITE_P(Containers, Nodes, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST_P(Nodes, WriteOneFile) {
    auto writers = begin(path_, options_for(3));
    append_on_all(writers);
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(3));
    EXPECT_EQ(verify(path_).faults, 0);
    EXPECT_FALSE(exists(parts_.path()));
    for (auto const& result : results) EXPECT_EQ(result.report.tables.at(0).rows, 3 * kRows);
    EXPECT_EQ(results[0].report.nodes.size(), 3);
    EXPECT_EQ(results[0].report.nodes[1].rows, kRows);
    for (auto const& writer : writers) EXPECT_TRUE(base::SharedMemory::list(writer->handle()).empty());
}

TEST_P(Nodes, AreReadWhileTheyWrite) {
    auto writers = begin(path_, options_for(2));
    std::vector<Producer> producers;
    for (auto& writer : writers) producers.push_back(writer->producer("events"));
    for (std::uint8_t i = 0; i < 2; ++i) append_events(producers[i], i, 0, kRows);
    while (Reader::open(path_)->rows(0) < 2 * kRows) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto const out = directory_.file(std::string("snapshot-") + GetParam());
    snapshot(path_, out);
    EXPECT_EQ(rows_in(out), all_rows(2));
    for (auto& producer : producers) producer.finish();
    close_all(writers);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, AttachAtTheirOwn) {
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        auto producer = Producer(attach(writers[i]->handle()), 0);
        append_events(producer, i, 0, kRows);
        producer.finish();
    }
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, WhatTheyLeaveIsRecovered) {
    {
        auto writers = begin(path_, options_for(3));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    auto const result = recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(3));
    EXPECT_EQ(verify(path_).faults, 0);
    EXPECT_FALSE(result.report.rows_may_be_missing) << fmt::format("{}", fmt::join(result.report.notes, "; "));
    EXPECT_FALSE(exists(parts_.path()));
}

TEST_P(Nodes, OneThatFailsIsHeardByAll) {
    auto writers = begin(path_, options_for(3));
    append_on_all(writers);
    writers[1]->abandon();
    auto const said = message_of([&] { writers[0]->close(kTimeoutNs); });
    EXPECT_NE(said.find("node 2"), std::string::npos) << said;
    EXPECT_NE(message_of([&] { writers[2]->close(kTimeoutNs); }), "");
    writers.clear();
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(3));
}

TEST_P(Nodes, AreNotRecoveredWhileOneMayLive) {
    {
        auto writers = begin(path_, options_for(2));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    move_to_another_machine({path_, {1, 2}});
    for (auto const& said : {message_of([&] { recover(path_); }), message_of([&] { SetAside{path_}; })}) {
        EXPECT_NE(said.find("node 2 on elsewhere"), std::string::npos) << said;
        EXPECT_NE(said.find("--all-nodes-are-down"), std::string::npos) << said;
    }
    recover(path_, {.all_nodes_are_down = true});
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, AJournalThatIsMissingIsSaid) {
    {
        auto writers = begin(path_, options_for(3));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    std::filesystem::remove(parts_.journal(1));
    auto const report = recover(path_).report;
    EXPECT_TRUE(report.rows_may_be_missing);
    EXPECT_NE(fmt::format("{}", fmt::join(report.notes, "; ")).find("node 2 has no journal"), std::string::npos);
    EXPECT_EQ(rows_in(path_), (RowCounts{{0, kRows}, {2, kRows}}));
}

TEST_P(Nodes, ThatDoNotComeAreNamed) {
    auto const creating = std::async(std::launch::async, [&] {
        return message_of([&] { Writer::create(path_, events(), options_for(4, 12 * kSoonNs)); });
    });
    auto const joined =
        std::async(std::launch::async, [&] { return message_of([&] { Writer::join(path_, 2, joining()); }); });
    auto const said = const_cast<std::future<std::string>&>(creating).get();
    EXPECT_NE(said.find("node 2, node 4 did not come"), std::string::npos) << said;
    EXPECT_NE(const_cast<std::future<std::string>&>(joined).get(), "");
    EXPECT_FALSE(exists(path_));
    // The last node that hears that there is no run removes its own files and leaves the folder, which may belong to a
    // new run already.
    EXPECT_TRUE(!exists(parts_.path()) || std::filesystem::is_empty(parts_.path()));
}

TEST_P(Nodes, ThatDisagreeAreToldByAll) {
    auto other = events();
    other.tables[0].fields[0].name = "another";
    for (auto const& options : std::vector<std::function<void(JoinOptions&)>>{
             [](JoinOptions& join) { join.nodes = 3; }, [&](JoinOptions& join) { join.schema = other; }}) {
        auto creating = std::async(
            std::launch::async, [&] { return message_of([&] { Writer::create(path_, events(), options_for(2)); }); });
        auto join = joining();
        options(join);
        auto const said = message_of([&] { Writer::join(path_, 1, join); });
        EXPECT_NE(said.find("node 1"), std::string::npos) << said;
        auto const heard = creating.get();
        EXPECT_NE(heard.find("node 2"), std::string::npos) << heard;
        EXPECT_FALSE(exists(parts_.path()));
    }
}

TEST_P(Nodes, ANodeJoinsOnce) {
    auto writers = begin(path_, options_for(2));
    for (std::uint32_t node : {1u, 0u, 2u})
        EXPECT_NE(message_of([&] { Writer::join(path_, node, joining(kSoonNs)); }), "");
    append_on_all(writers);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
    EXPECT_NE(message_of([&] { Writer::join(path_, 1, joining(kSoonNs)); }), "");
}

TEST_P(Nodes, WhatIsNotPossibleYetIsRefused) {
    auto ordered = options_for(2);
    ordered.keys_per_group = 10;
    EXPECT_NE(message_of([&] { Writer::create(path_, events(), ordered); }), "");
    EXPECT_NE(message_of([&] { Writer::create(path_, events(), options_for(kMostNodes + 1)); }), "");
    {
        auto writers = begin(path_, options_for(2));
        EXPECT_NE(message_of([&] { writers[0]->create_next(directory_.file("next.h5"), options_for(1)); }), "");
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, ABeginningFromWhichNoNodeWentOnIsClearedAway) {
    parts_.make();
    auto writers = begin(path_, options_for(2));
    append_on_all(writers);
    close_all(writers);
    EXPECT_EQ(rows_in(path_), all_rows(2));
    parts_.make(); // as one leaves it that dies while it removes the folder
    std::filesystem::create_directory(parts_.path());
    storage::open_file_storage(parts_.journal(1), storage::OpenMode::create_new)
        ->write(0, std::vector<std::byte>(9000));
    EXPECT_EQ(Reader::open(path_)->rows(0), 2 * kRows);
    EXPECT_NE(message_of([&] { recover(path_); }), "");
    EXPECT_FALSE(exists(parts_.path()));
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

} // namespace
} // namespace thalweg::dataset
