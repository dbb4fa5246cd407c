// Work units of several nodes, whose keys may be those of others, too.
#include <set>

#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class NodeKeys : public Nodes {};

INSTANTIATE_TEST_SUITE_P(Containers, NodeKeys, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST_P(NodeKeys, AUnitThatTwoCommitCountsOnce) {
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        auto own = writers[i]->work_unit(100 + i);
        append_events(own["events"], i, 0, 10);
        own.commit();
        auto unit = writers[i]->work_unit(7);
        append_events(unit["events"], i, 10, 10);
        unit.commit();
    }
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    EXPECT_EQ(results[0].report.units, 3);
    EXPECT_EQ(results[0].report.tables[0].rows, 30);
    EXPECT_NE(fmt::format("{}", fmt::join(results[0].report.notes, "; ")).find("work unit 7"), std::string::npos);
    auto const reader = Reader::open(path_);
    for (auto const& unit : reader->units()) EXPECT_EQ(unit.ranges.at(0).rows, 10);
}

// If no key is taken through the folder, a gap in the rows of the second node costs, in HDF5, the units that it has
// committed behind it, and each of these units is named.
TEST_P(NodeKeys, WhatAUnitThatTwoCommitCostsIsNamed) {
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        std::uint64_t row = 0;
        for (std::int64_t const key : {100 + i, 7, 200 + i, 300 + i}) {
            auto unit = writers[i]->work_unit(key);
            append_events(unit["events"], i, row, 10);
            ASSERT_TRUE(unit.commit());
            row += 10;
        }
    }
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    auto const& report = results[0].report;
    auto const notes = fmt::format("{}", fmt::join(report.notes, "; "));
    EXPECT_EQ(report.units + report.units_lost, 7) << notes;
    std::set<std::int64_t> there;
    for (auto const& unit : Reader::open(path_)->units()) there.insert(unit.key.integer);
    for (std::int64_t const key : {100, 7, 200, 300, 101}) EXPECT_TRUE(there.contains(key)) << key << ": " << notes;
    for (std::int64_t const key : {201, 301}) {
        auto const note = fmt::format("work unit {} is left out", key);
        EXPECT_NE(there.contains(key), notes.find(note) != std::string::npos) << notes;
    }
    EXPECT_EQ(report.tables[0].rows, report.units * 10);
}

// What a machine has lost does not stand in the way of what was done again on another one.
TEST_P(NodeKeys, OfUnitsThatTwoCommitTheFirstWholeOneCounts) {
    constexpr std::uint64_t kMany = 20'000; // several pages
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        auto unit = writers[i]->work_unit(7, "the same");
        append_events(unit["events"], i, 0, kMany);
        ASSERT_TRUE(unit.commit());
    }
    for (auto& writer : writers) writer->abandon();
    auto const gathered_from = [&](RunState state) {
        Journals journals;
        for (auto const& place : places_of_run(path_))
            journals.push_back(place.open_journal(storage::OpenMode::read_only));
        return gather(journals, *storage::open_file_storage(path_, storage::OpenMode::read_only), state);
    };
    auto const before = gathered_from(RunState::copied);
    EXPECT_EQ(before.report.units, 1);
    EXPECT_EQ(before.report.tables[0].rows, kMany);
    EXPECT_EQ(before.report.tables[0].lost_rows, 0);
    EXPECT_NE(before.report.notes.at(0).find("by node 1 and by node 2: that of node 1 counts"), std::string::npos);
    auto const page = before.facts.tables[0].at(0).columns[0].at(0); // of node 1
    auto const file = storage::open_file_storage(path_, storage::OpenMode::read_write);
    file->write(page.offset, std::as_bytes(std::span("damaged")));
    file->sync();
    auto const after = gathered_from(RunState::copied);
    EXPECT_EQ(after.report.units, 1);
    EXPECT_EQ(after.report.units_lost, 0);
    EXPECT_TRUE(after.left_out.empty());
    EXPECT_EQ(after.report.tables[0].rows, kMany);
    EXPECT_EQ(after.units.at(0).node, 1);
    auto const notes = fmt::format("{}", fmt::join(after.report.notes, "; "));
    EXPECT_NE(notes.find("that of node 2 counts"), std::string::npos) << notes;
}

// How many units each has committed of keys that both try, in turns that meet.
std::vector<int> race(Writers const& writers, std::function<UnitKey(int)> const& key_of, int keys) {
    std::vector<std::future<int>> racing;
    for (std::uint8_t i = 0; i < writers.size(); ++i) {
        racing.push_back(std::async(std::launch::async, [&, i] {
            int committed = 0;
            for (int turn = 0; turn < keys; ++turn) {
                auto const number = i == 0 ? turn : (turn + keys / 2) % keys;
                auto unit = writers[i]->work_unit(key_of(number));
                append_events(unit["events"], i, static_cast<std::uint64_t>(committed) * 5, 5);
                if (unit.commit()) ++committed;
            }
            return committed;
        }));
    }
    std::vector<int> committed;
    for (auto& each : racing) committed.push_back(each.get());
    return committed;
}

TEST_P(NodeKeys, NoTwoCommitOneKeyThatTheyShare) {
    constexpr int kKeys = 120;
    for (std::uint64_t const together : {0, 1, 10}) {
        auto options = options_for(2);
        options.force = true;
        options.nodes.rules.keys_together = together;
        auto writers = begin(path_, options);
        auto const integers = race(
            writers, [](int number) { return UnitKey(number - 60); }, kKeys);
        auto const texts = race(
            writers, [](int number) { return UnitKey(fmt::format("file/{}", number)); }, kKeys);
        std::vector<CompleteResult> results;
        for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
        auto const& report = results[0].report;
        EXPECT_EQ(verify(path_).faults, 0);
        if (together == 0) { // each key is of the node that it was given to, and here it was given to both
            EXPECT_EQ(integers[0] + integers[1], 2 * kKeys);
            continue;
        }
        EXPECT_EQ(integers[0] + integers[1], kKeys);
        EXPECT_EQ(texts[0] + texts[1], kKeys);
        EXPECT_EQ(report.units, 2 * kKeys);
        EXPECT_EQ(report.units_lost, 0);
        EXPECT_EQ(report.tables[0].rows, 2 * kKeys * 5);
        EXPECT_TRUE(report.notes.empty()) << fmt::format("{}", fmt::join(report.notes, "; "));
    }
}

TEST_P(NodeKeys, KeysAreTakenForAllProcessesOfANode) {
    auto options = options_for(2);
    options.nodes.rules.keys_together = 1000;
    auto writers = begin(path_, options);
    WorkUnits attached(attach(writers[1]->handle()));
    EXPECT_TRUE(attached.take(1999));
    EXPECT_TRUE(writers[1]->work_units().take(1000));
    EXPECT_FALSE(writers[0]->work_units().take(1500));
    EXPECT_TRUE(writers[0]->work_units().take(2000));
    auto unit = writers[0]->work_unit(1001);
    append_events(unit["events"], 0, 0, 10);
    EXPECT_FALSE(unit.commit());
    attached.finish();
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(Reader::open(path_)->rows(0), 0);
    EXPECT_FALSE(exists(parts_.path()));
}

} // namespace
} // namespace thalweg::dataset
