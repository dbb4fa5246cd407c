// A run of several nodes goes on after all of them have died.
#include <chrono>
#include <csignal>
#include <thread>

#include "thalweg/dataset/nodes/resume_attempt.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

using ResumedNodes = Nodes;

INSTANTIATE_TEST_SUITE_P(Containers, ResumedNodes, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

JoinOptions returning(std::uint64_t timeout_ns = kComeNs) {
    auto options = joining(timeout_ns);
    options.resume = true;
    return options;
}

// The nodes in `missing` do not come. What each was told.
std::vector<std::string> try_resume(std::string const& path, CreateOptions const& options, Writers& writers,
                                    std::set<std::uint32_t> const& missing = {}) {
    auto const nodes = options.nodes.nodes;
    writers.resize(nodes);
    std::vector<std::future<std::string>> coming;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (missing.contains(node)) continue;
        coming.push_back(std::async(std::launch::async, [&, node] {
            return message_of([&] {
                writers[node] = node == 0 ? Writer::resume(path, {}, options) : Writer::join(path, node, returning());
            });
        }));
    }
    std::vector<std::string> said;
    for (auto& each : coming) said.push_back(each.get());
    return said;
}

Writers resume_all(std::string const& path, CreateOptions const& options) {
    Writers writers;
    for (auto const& said : try_resume(path, options, writers)) EXPECT_EQ(said, "");
    return writers;
}

// Appends with as many producers more, whose rows begin anew.
void append_again(Writers const& writers, std::uint8_t first) {
    for (std::size_t i = 0; i < writers.size(); ++i) {
        auto producer = writers[i]->producer("events");
        append_events(producer, static_cast<std::uint8_t>(first + i), 0, kRows);
        producer.finish();
    }
}

void leave_a_run(std::string const& path, CreateOptions const& options) {
    auto writers = begin(path, options);
    append_on_all(writers);
    for (auto& writer : writers) writer->abandon();
}

// Their rows are in memory only, as their processes are killed.
void kill_a_run(std::string const& path, CreateOptions options, std::chrono::milliseconds after = {}) {
    options.commit.flush_interval_ns = 3600'000'000'000;
    run_until_killed([&] {
        auto const writers = begin(path, options);
        std::vector<Producer> producers;
        for (std::size_t i = 0; i < writers.size(); ++i) {
            producers.push_back(writers[i]->producer("events"));
            append_events(producers.back(), static_cast<std::uint8_t>(i), 0, kRows);
        }
        std::this_thread::sleep_for(after);
        ::raise(SIGKILL);
    });
}

// In two lives more, of which the second is closed.
RunReport go_on_twice(std::string const& path) {
    auto writers = resume_all(path, options_for(3));
    append_again(writers, 3);
    for (auto& writer : writers) writer->abandon();
    writers.clear();
    writers = resume_all(path, options_for(3));
    append_again(writers, 6);
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    return results[0].report;
}

TEST_P(ResumedNodes, GoOnInTheSameFile) {
    leave_a_run(path_, options_for(3));
    auto const report = go_on_twice(path_);
    EXPECT_FALSE(report.rows_may_be_missing);
    EXPECT_EQ(report.nodes.at(1).rows, 3 * kRows);
    EXPECT_EQ(rows_in(path_), all_rows(9));
    EXPECT_EQ(verify(path_).faults, 0);
    EXPECT_FALSE(exists(parts_.path()));
}

TEST_P(ResumedNodes, KeepWhatWasInMemoryWhenAllWereKilled) {
    kill_a_run(path_, options_for(3));
    auto writers = resume_all(path_, options_for(3));
    append_again(writers, 3);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(6));
    EXPECT_EQ(verify(path_).faults, 0);
}

TEST_P(ResumedNodes, SayThatMemoryWasLost) {
    kill_a_run(path_, options_for(3));
    auto const run_id = *RunPlace(path_, {0, 3}).run_id();
    RunPlace const second(path_, {1, 3});
    // As after a restart of its machine.
    remove_memory_of(run_id, second, second.open_journal(storage::OpenMode::read_only));
    auto const report = go_on_twice(path_);
    EXPECT_TRUE(report.rows_may_be_missing);
    auto const notes = fmt::format("{}", fmt::join(report.notes, "; "));
    EXPECT_NE(notes.find("node 2"), std::string::npos) << notes;
    EXPECT_EQ(notes.find("node 3"), std::string::npos) << notes;
    auto counts = rows_in(path_), expected = all_rows(9);
    EXPECT_LT(counts[1], kRows); // what was in pages
    expected[1] = counts[1];
    EXPECT_EQ(counts, expected);
}

// The interval of the run is an hour, that of a run without options a second.
TEST_P(ResumedNodes, HaveFlushedAsOftenAsTheRunSays) {
    kill_a_run(path_, options_for(2), std::chrono::milliseconds(1500));
    RunPlace const second(path_, {1, 2});
    remove_memory_of(*second.run_id(), second, second.open_journal(storage::OpenMode::read_only));
    auto writers = resume_all(path_, options_for(2));
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    auto counts = rows_in(path_);
    EXPECT_EQ(counts[0], kRows);
    EXPECT_LT(counts[1], kRows);
}

TEST_P(ResumedNodes, AreRecoveredWhenTheyDieAgain) {
    kill_a_run(path_, options_for(2));
    {
        auto writers = resume_all(path_, options_for(2));
        append_again(writers, 2);
        for (auto& writer : writers) writer->abandon();
    }
    EXPECT_FALSE(recover(path_).report.rows_may_be_missing);
    EXPECT_EQ(rows_in(path_), all_rows(4));
}

TEST_P(ResumedNodes, KnowTheKeysOfAll) {
    for (std::uint64_t together : {0, 4}) {
        auto options = options_for(2);
        options.force = true;
        options.nodes.rules.keys_together = together;
        {
            auto writers = begin(path_, options);
            auto unit = writers[1]->work_unit(UnitKey(1));
            append_events(unit["events"], 0, 0, kRows);
            EXPECT_TRUE(unit.commit());
            auto text = writers[0]->work_unit(UnitKey(std::string("\xff text")));
            append_events(text["events"], 1, 0, kRows);
            EXPECT_TRUE(text.commit());
            auto dropped = writers[1]->work_unit(UnitKey(2)); // its key was given to node 2, and is not committed
            append_events(dropped["events"], 2, 0, kRows);
            dropped.drop();
            for (auto& writer : writers) writer->abandon();
        }
        auto writers = resume_all(path_, options);
        for (auto const& writer : writers) {
            EXPECT_TRUE(writer->is_committed(UnitKey(1)));
            EXPECT_TRUE(writer->is_committed(UnitKey(std::string("\xff text"))));
            EXPECT_FALSE(writer->is_committed(UnitKey(2)));
        }
        auto again = writers[0]->work_unit(UnitKey(1));
        append_events(again["events"], 0, 0, kRows);
        EXPECT_FALSE(again.commit());
        auto unit = writers[0]->work_unit(UnitKey(2));
        append_events(unit["events"], 2, 0, kRows);
        EXPECT_TRUE(unit.commit());
        for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
        EXPECT_EQ(rows_in(path_), all_rows(3));
    }
}

TEST_P(ResumedNodes, WhoDoesNotReturnIsNamed) {
    leave_a_run(path_, options_for(3));
    Writers writers;
    auto const said = try_resume(path_, options_for(3, 4 * kSoonNs), writers, {1});
    EXPECT_NE(said[0].find("node 2 did not return"), std::string::npos) << said[0];
    EXPECT_NE(said[1].find("node 2 did not return"), std::string::npos) << said[1];
    writers = resume_all(path_, options_for(3)); // what was announced in that attempt is of no account
    append_again(writers, 3);
    for (auto const& text : close_all(writers)) EXPECT_EQ(text, "");
    EXPECT_EQ(rows_in(path_), all_rows(6));
}

TEST_P(ResumedNodes, WhoComesWithoutTheFirstIsToldSo) {
    leave_a_run(path_, options_for(2));
    auto const said = message_of([&] { Writer::join(path_, 1, returning(kSoonNs)); });
    EXPECT_NE(said.find("node 1 has not resumed it"), std::string::npos) << said;
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
    EXPECT_NE(message_of([&] { Writer::join(path_, 1, returning(kSoonNs)); }).find("there is no"), std::string::npos);
}

TEST_P(ResumedNodes, WhatOneCannotIsHeardByAll) {
    leave_a_run(path_, options_for(3));
    RunPlace const place(path_, {1, 3});
    Writers writers;
    {
        auto const lock = place.lock_shared(); // a process of it lives
        auto const said = try_resume(path_, options_for(3), writers);
        for (auto const& text : said) EXPECT_NE(text.find("still"), std::string::npos) << text;
        EXPECT_NE(said[2].find("node 2"), std::string::npos) << said[2];
    }
    move_to_another_machine(place);
    auto const said = try_resume(path_, options_for(3), writers);
    for (auto const& text : said) EXPECT_NE(text.find("node 2 on elsewhere"), std::string::npos) << text;
    for (auto const& writer : writers) EXPECT_EQ(writer, nullptr);
    recover(path_, {.all_nodes_are_down = true});
    EXPECT_EQ(rows_in(path_), all_rows(3));
}

// Its journal took it longer to take over than the first node needed to hear that another one cannot.
TEST_P(ResumedNodes, WhoIsLateHearsWhy) {
    leave_a_run(path_, options_for(3));
    auto const waiting = [&](std::optional<std::string> const& told_before) {
        Deadline deadline(kSoonNs, {});
        return message_of([&] { return_and_wait(parts_, 2, told_before, deadline); });
    };
    ResumeAttempt(parts_, 3).refuse("node 2 cannot");
    EXPECT_NE(waiting({}).find("node 1 refuses: node 2 cannot"), std::string::npos) << waiting({});
    auto const told = last_told(parts_);
    auto const said = waiting(told); // it began behind that: there may be another attempt
    EXPECT_NE(said.find("node 1 has not resumed it in time; what it said when it tried before: node 2 cannot"),
              std::string::npos)
        << said;
    ResumeAttempt(parts_, 3).refuse("node 2 still cannot");
    EXPECT_NE(waiting(told).find("node 1 refuses: node 2 still cannot"), std::string::npos);
}

// Node 1 appends to the journals of the others, which cuts off what it does not see.
TEST_P(ResumedNodes, AJournalThatIsNotSeenAsAWholeIsNotCut) {
    leave_a_run(path_, options_for(2));
    auto const size_of_second = [&] {
        return storage::open_file_storage(parts_.journal(1), storage::OpenMode::read_only)->size();
    };
    auto const bytes = size_of_second();
    auto first = std::async(std::launch::async, [&] {
        return message_of([&] { Writer::resume(path_, {}, options_for(2, 4 * kSoonNs)); });
    });
    Deadline deadline(kComeNs, {});
    auto const second = message_of([&] { return_and_wait(parts_, 1, {}, deadline, bytes + 8); });
    auto const why = fmt::format("node 2 has returned with a journal of {} bytes", bytes + 8);
    EXPECT_NE(first.get().find(why), std::string::npos);
    EXPECT_NE(second.find("node 1 refuses"), std::string::npos) << second;
    EXPECT_EQ(size_of_second(), bytes);
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(ResumedNodes, WhatDoesNotFitIsRefused) {
    leave_a_run(path_, options_for(2));
    auto const said_of = [&](CreateOptions const& options) {
        Writers writers;
        auto const said = try_resume(path_, options, writers, {1});
        return said[0];
    };
    EXPECT_NE(said_of(options_for(3)).find("it has 2 nodes, and nodes=3 is given"), std::string::npos);
    EXPECT_NE(said_of(CreateOptions{}).find("it has 2 nodes, and nodes=1 is given"), std::string::npos);
    auto other = events();
    other.tables[0].fields[0].name = "another";
    EXPECT_NE(message_of([&] { Writer::resume(path_, other, options_for(2)); }).find("schema"), std::string::npos);
    parts_.announce(kRecovering, "another process");
    EXPECT_NE(said_of(options_for(2)).find("recover"), std::string::npos);
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
    EXPECT_NE(said_of(options_for(2)).find("there is nothing to resume"), std::string::npos);
}

TEST_P(ResumedNodes, KnobsThatWouldMoveRegionsAreRefused) {
    leave_a_run(path_, options_for(2));
    auto options = options_for(2);
    options.write.extent_bytes = 32 << 20;
    Writers writers;
    for (auto const& said : try_resume(path_, options, writers))
        EXPECT_NE(said.find("regions"), std::string::npos) << said;
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(ResumedNodes, AJournalThatIsGoneIsBegunAgain) {
    leave_a_run(path_, options_for(3));
    std::filesystem::remove(parts_.journal(1));
    auto writers = resume_all(path_, options_for(3));
    append_again(writers, 3);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    auto expected = all_rows(6);
    expected.erase(1);
    EXPECT_EQ(rows_in(path_), expected);
}

// As where the one that completed it was killed.
TEST_P(ResumedNodes, AfterACompletionThatWasNotFinished) {
    leave_a_run(path_, options_for(2));
    parts_.announce(kCompleting, "node 1");
    auto const file = storage::open_file_storage(path_, storage::OpenMode::read_write);
    file->write(file->size(), std::vector<std::byte>(1 << 20, std::byte{7})); // its metadata, and no first sector
    auto writers = resume_all(path_, options_for(2));
    append_again(writers, 2);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(4));
    EXPECT_EQ(verify(path_).faults, 0);
}

} // namespace
} // namespace thalweg::dataset
