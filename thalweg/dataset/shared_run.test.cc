// Ranks are threads here, of one machine or, as they pretend, of several.
#include "thalweg/dataset/shared_run.h"

#include <atomic>
#include <gtest/gtest.h>

#include "thalweg/dataset/test_nodes.h"
#include "thalweg/ranks/test_ranks.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::dataset::testing {
namespace {

using ranks::ThreadCommunicator;

// Calls `work` as so many ranks; what each threw, empty where it threw nothing.
std::vector<std::string> run(int count, int per_machine, std::function<void(ThreadCommunicator&)> const& work) {
    std::vector<std::string> said;
    auto const thrown = ranks::run_ranks(count, [&](ranks::Communicator& comm) {
        auto& of_threads = dynamic_cast<ThreadCommunicator&>(comm);
        of_threads.ranks_per_machine = per_machine;
        work(of_threads);
    });
    for (auto const& each : thrown) {
        said.push_back(message_of([&] {
            if (each) std::rethrow_exception(each);
        }));
    }
    return said;
}

std::vector<std::string> silence(int ranks) { return std::vector<std::string>(static_cast<std::size_t>(ranks)); }

void append(SharedRun& out, int rank, std::uint64_t rows = kRows) {
    auto producer = out.producer("events");
    append_events(producer, static_cast<std::uint8_t>(rank), 0, rows);
    producer.finish();
}

RowCounts rows_of_all(int ranks) {
    RowCounts counts;
    for (int rank = 0; rank < ranks; ++rank) counts[static_cast<std::uint8_t>(rank)] = kRows;
    return counts;
}

class SharedRuns : public ::testing::TestWithParam<std::pair<char const*, int>> {
  protected:
    std::string path() const { return directory_.path(GetParam().first); }
    int per_machine() const { return GetParam().second; }

    std::unique_ptr<SharedRun> create(ranks::Communicator& comm, model::Schema const& schema = events()) const {
        return SharedRun::create(comm, path(), schema, options_for(1, kSoonNs));
    }

    storage::TestDirectory directory_;
};

TEST_P(SharedRuns, all_ranks_write_one_file) {
    constexpr int kRanks = 4;
    std::atomic<int> results = 0;
    EXPECT_EQ(run(kRanks, per_machine(),
                  [&](ThreadCommunicator& comm) {
                      auto const out = create(comm);
                      append(*out, comm.rank());
                      if (out->close(kTimeoutNs)) ++results;
                  }),
              silence(kRanks));
    EXPECT_EQ(results, (kRanks + per_machine() - 1) / per_machine());
    EXPECT_EQ(rows_in(path()), rows_of_all(kRanks));
}

TEST_P(SharedRuns, a_rank_with_another_schema_is_named_to_all) {
    auto const said =
        run(4, per_machine(), [&](ThreadCommunicator& comm) { create(comm, comm.rank() == 3 ? events(8) : events()); });
    for (auto const& each : said) {
        EXPECT_NE(each.find("another schema"), std::string::npos) << each;
        EXPECT_NE(each.find("rank "), std::string::npos) << each;
    }
}

TEST_P(SharedRuns, ranks_with_other_paths_are_named_to_all) {
    auto const said = run(3, per_machine(), [&](ThreadCommunicator& comm) {
        SharedRun::create(comm, path() + (comm.rank() == 2 ? "x" : ""), events(), options_for(1, kSoonNs));
    });
    for (auto const& each : said) EXPECT_NE(each.find("ranks 0 and 2 do not write the same file"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_P(SharedRuns, an_error_of_the_first_rank_is_one_of_all) {
    std::filesystem::create_directory(path()); // where the file should be
    auto const said = run(3, per_machine(), [&](ThreadCommunicator& comm) { create(comm); });
    for (auto const& each : said) EXPECT_NE(each.find("rank 0: "), std::string::npos) << each;
}

TEST_P(SharedRuns, a_rank_that_gives_up_is_heard_by_all) {
    constexpr int kRanks = 4;
    auto const said = run(kRanks, per_machine(), [&](ThreadCommunicator& comm) {
        auto const out = create(comm);
        append(*out, comm.rank());
        if (comm.rank() == 1) base::fail_system({"this rank has had enough"});
        out->close(kTimeoutNs);
    });
    for (int rank = 0; rank < kRanks; ++rank) {
        auto const& each = said[static_cast<std::size_t>(rank)];
        auto const* const expected = rank == 1 ? "this rank has had enough" : "rank 1: the run was not closed";
        EXPECT_NE(each.find(expected), std::string::npos) << each;
    }
    recover(path(), {});
    EXPECT_EQ(rows_in(path()), rows_of_all(kRanks));
}

TEST_P(SharedRuns, units_of_all_ranks_count_once) {
    constexpr int kRanks = 4;
    std::atomic<int> committed = 0;
    EXPECT_EQ(run(kRanks, kRanks,
                  [&](ThreadCommunicator& comm) {
                      auto const out = create(comm);
                      {
                          auto unit = out->work_unit(UnitKey(std::string("the only one")));
                          append_events(unit["events"], 0, 0, kRows);
                          if (unit.commit()) ++committed;
                      }
                      out->close(kTimeoutNs);
                  }),
              silence(kRanks));
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(rows_in(path()), rows_of_all(1));
}

TEST_P(SharedRuns, it_is_closed_once) {
    auto const comm = ranks::alone();
    auto const out = create(*comm);
    out->close(kTimeoutNs);
    EXPECT_NE(message_of([&] { out->close(kTimeoutNs); }).find("closed already"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Containers, SharedRuns,
                         ::testing::Values(std::pair("run.h5", 4), std::pair("run.h5", 2), std::pair("run.root", 3)));

} // namespace
} // namespace thalweg::dataset::testing
