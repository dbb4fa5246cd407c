// The conformance suite: what every source promises. A test instantiates it with the sources of its folder.
#pragma once

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/model/column.h"
#include "thalweg/source/source.h"

namespace thalweg::source::testing {

struct Candidate {
    std::string name;
    std::function<std::unique_ptr<Source>()> make; // two streams or more, each of 100 to 1000 rows
};

class AnySource : public ::testing::TestWithParam<Candidate> {
  protected:
    std::unique_ptr<Source> source_ = GetParam().make();
};

inline bool next(StreamReader& reader, Batch& batch) {
    return reader.next(batch, base::monotonic_ns() + 60'000 * base::kMsNs);
}

inline std::vector<std::vector<std::byte>> drain(StreamReader& reader, std::size_t columns) {
    std::vector<std::vector<std::byte>> all(columns);
    Batch batch;
    while (next(reader, batch))
        for (std::size_t i = 0; i < columns; ++i)
            all[i].insert(all[i].end(), batch.columns[i].begin(), batch.columns[i].end());
    return all;
}

TEST_P(AnySource, StreamsAreTablesOfTheirName) {
    ASSERT_GE(source_->streams().size(), 2u);
    model::Schema schema;
    for (auto const& stream : source_->streams()) {
        EXPECT_EQ(stream.name, stream.table.name);
        schema.tables.push_back(stream.table);
    }
    EXPECT_NO_THROW(model::validate(schema));
    EXPECT_THROW(source_->open(source_->streams().size()), base::UsageError);
    EXPECT_TRUE(source_->metadata().contains("source"));
    EXPECT_TRUE(source_->metadata().contains("clock_domain"));
}

TEST_P(AnySource, BatchesFillTheColumnsOfTheTable) {
    auto const columns = model::flatten(source_->streams()[1].table);
    auto const reader = source_->open(1);
    std::uint64_t rows = 0;
    for (Batch batch; next(*reader, batch); rows += batch.rows) {
        ASSERT_GT(batch.rows, 0u);
        ASSERT_EQ(batch.columns.size(), columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i) {
            auto items = batch.rows;
            if (auto const parent = columns[i].parent) {
                std::vector<std::uint64_t> lengths(batch.rows);
                ASSERT_EQ(batch.columns[*parent].size(), 8 * batch.rows);
                std::memcpy(lengths.data(), batch.columns[*parent].data(), 8 * batch.rows);
                items = 0;
                for (auto const length : lengths) items += length;
            }
            ASSERT_EQ(batch.columns[i].size(), items * columns[i].item_bytes()) << columns[i].path;
        }
    }
    EXPECT_GE(rows, 100u);
    EXPECT_EQ(reader->counters().rows, rows);
    EXPECT_EQ(reader->counters().triggers, rows);
    EXPECT_EQ(reader->counters().lost, 0u);
    EXPECT_EQ(reader->counters().onboard_bytes, 0u);
}

TEST_P(AnySource, EndsOnceAndForAll) {
    auto const reader = source_->open(0);
    EXPECT_FALSE(reader->ended());
    drain(*reader, 0);
    EXPECT_TRUE(reader->ended());
    Batch batch;
    auto const begin_ns = base::monotonic_ns();
    EXPECT_FALSE(reader->next(batch, begin_ns + 60'000 * base::kMsNs)); // and does not wait for more
    EXPECT_LT(base::monotonic_ns() - begin_ns, 30'000 * base::kMsNs);
    EXPECT_TRUE(reader->ended());
}

TEST_P(AnySource, MadeTwiceItIsTheSameAndReadersOutliveIt) {
    auto const columns = model::flatten(source_->streams()[1].table).size();
    auto const first = source_->open(1);
    auto const other_stream = source_->open(0);
    auto const second = GetParam().make()->open(1);
    source_.reset();
    auto const rows = drain(*first, columns);
    EXPECT_EQ(rows, drain(*second, columns));
    EXPECT_NE(rows, drain(*other_stream, columns));
}

TEST_P(AnySource, PausedItWaitsForTheDeadlineAndThenGoesOn) {
    auto const reader = source_->open(0);
    Batch batch;
    ASSERT_TRUE(next(*reader, batch));
    reader->pause();
    while (reader->next(batch, 0)) {
    }
    auto const deadline_ns = base::monotonic_ns() + 2 * base::kMsNs;
    EXPECT_FALSE(reader->next(batch, deadline_ns));
    EXPECT_GE(base::monotonic_ns(), deadline_ns);
    EXPECT_FALSE(reader->ended());
    reader->resume();
    EXPECT_TRUE(next(*reader, batch));
    EXPECT_EQ(reader->counters().lost, 0u);
}

TEST_P(AnySource, AnotherThreadMayAskForCounters) {
    auto const reader = source_->open(0);
    std::jthread const progress([&](std::stop_token const& stop) {
        for (std::uint64_t rows = 0; !stop.stop_requested();) {
            auto const counters = reader->counters();
            EXPECT_GE(counters.rows, rows);
            rows = counters.rows;
            std::this_thread::yield();
        }
    });
    drain(*reader, 0);
}

} // namespace thalweg::source::testing
