#include "thalweg/source/replay.h"

#include <cstring>
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/model/column.h"

namespace thalweg::source {
namespace {

using model::Field, model::Kind, model::Scalar;

template <typename Value> std::vector<std::byte> bytes_of(std::vector<Value> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

template <typename Value> std::vector<Value> values_of(std::span<std::byte const> bytes) {
    std::vector<Value> values(bytes.size() / sizeof(Value));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// timestamp, hits: list of uint16[2]
RowSet ragged(std::string name, std::vector<std::uint64_t> timestamps, std::vector<std::uint64_t> lengths) {
    Field hit{.name = "hit", .scalar = Scalar::uint16, .shape = {2}};
    RowSet rows{.table = {.name = std::move(name),
                          .fields = {{.name = "timestamp", .scalar = Scalar::uint64},
                                     {.name = "hits", .kind = Kind::list, .members = {hit}}}},
                .rows = timestamps.size()};
    std::vector<std::uint16_t> hits;
    for (auto const length : lengths)
        for (std::uint64_t i = 0; i < 2 * length; ++i) hits.push_back(static_cast<std::uint16_t>(hits.size()));
    rows.columns = {bytes_of(timestamps), bytes_of(lengths), bytes_of(hits)};
    return rows;
}

// Returns everything that a stream gives, column by column.
std::vector<std::vector<std::byte>> all_columns_of(StreamReader& reader) {
    std::vector<std::vector<std::byte>> columns;
    for (Batch batch; reader.next(batch, 0);) {
        columns.resize(batch.columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i)
            columns[i].insert(columns[i].end(), batch.columns[i].begin(), batch.columns[i].end());
    }
    EXPECT_TRUE(reader.ended());
    return columns;
}

TEST(Replay, OnceGivesWhatWasPutInWhateverTheBatch) {
    auto const rows = ragged("ch0", {5, 3, 9, 9, 20}, {0, 3, 1, 0, 2});
    for (std::uint64_t const batch_bytes : {1, 40, 1000}) {
        auto const source = make_replay({rows}, {.batch_bytes = batch_bytes});
        EXPECT_EQ(source->streams()[0].name, "ch0");
        auto const reader = source->open(0);
        EXPECT_EQ(all_columns_of(*reader), rows.columns);
        EXPECT_EQ(reader->counters().rows, 5u);
    }
}

TEST(Replay, ListsComeWithTheirRows) {
    auto const source = make_replay({ragged("ch0", {1, 2, 3}, {2, 0, 1})}, {.batch_bytes = 1});
    auto const reader = source->open(0);
    Batch batch;
    std::vector<std::vector<std::uint16_t>> hits;
    while (reader->next(batch, 0)) {
        EXPECT_EQ(batch.rows, 1u);
        hits.push_back(values_of<std::uint16_t>(batch.columns[2]));
    }
    EXPECT_EQ(hits, (std::vector<std::vector<std::uint16_t>>{{0, 1, 2, 3}, {}, {4, 5}}));
}

TEST(Replay, TimestampsGoOnByOneStepForAllTables) {
    // The timestamps go from 100 to 160, and there are four of them: 60 + 20.
    auto const source = make_replay({ragged("a", {160, 100}, {0, 0}), ragged("b", {120, 130}, {1, 1})}, {.loops = 3});
    auto const reader = source->open(0);
    EXPECT_EQ(values_of<std::uint64_t>(all_columns_of(*reader)[0]),
              (std::vector<std::uint64_t>{160, 100, 240, 180, 320, 260}));
    EXPECT_EQ(values_of<std::uint64_t>(all_columns_of(*source->open(1))[0]),
              (std::vector<std::uint64_t>{120, 130, 200, 210, 280, 290}));
    EXPECT_EQ(source->metadata().at("loop_step"), "80 of 'timestamp'");
}

TEST(Replay, SecondsAsFloatsGoOnToo) {
    RowSet rows{.table = {.name = "ch0", .fields = {{.name = "t", .scalar = Scalar::float64}}}, .rows = 3};
    rows.columns = {bytes_of(std::vector<double>{1.0, 1.5, 2.0})};
    auto const source = make_replay({rows}, {.loops = 2, .timestamp = "t"});
    EXPECT_EQ(values_of<double>(all_columns_of(*source->open(0))[0]),
              (std::vector<double>{1.0, 1.5, 2.0, 2.5, 3.0, 3.5}));
}

TEST(Replay, WithoutTimestampsRowsRepeat) {
    auto const source = make_replay({ragged("ch0", {7, 8}, {0, 0})}, {.loops = 2, .timestamp = "other"});
    EXPECT_EQ(values_of<std::uint64_t>(all_columns_of(*source->open(0))[0]), (std::vector<std::uint64_t>{7, 8, 7, 8}));
}

TEST(Replay, EndlessHasNoEndButAnEmptyTableDoes) {
    auto const source = make_replay({ragged("a", {1}, {0}), ragged("b", {}, {})}, {.loops = 0});
    auto const reader = source->open(0);
    Batch batch;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(reader->next(batch, 0));
        ASSERT_EQ(values_of<std::uint64_t>(batch.columns[0]), std::vector<std::uint64_t>{1 + i});
    }
    EXPECT_FALSE(reader->ended());
    EXPECT_TRUE(source->open(1)->ended());
    EXPECT_FALSE(source->open(1)->next(batch, 0));
}

TEST(Replay, RowSetsThatDoNotFitAreRefused) {
    auto const refused = [](auto const& change, ReplayOptions const& options = {}) {
        auto rows = ragged("ch0", {1, 2, 3}, {2, 0, 1});
        change(rows);
        EXPECT_THROW(make_replay({rows}, options), base::UsageError);
    };
    refused([](RowSet& rows) { rows.columns.pop_back(); });
    refused([](RowSet& rows) { rows.columns[0].pop_back(); });
    refused([](RowSet& rows) { rows.columns[2].resize(8); });
    refused([](RowSet& rows) { rows.columns[1] = bytes_of(std::vector<std::uint64_t>{2, ~0ull, 2}); });
    refused([](RowSet& rows) { rows.rows = 4; });
    refused([](RowSet&) {}, {.loops = 2, .timestamp = "hits"});
    auto const rows = ragged("same", {1}, {0});
    EXPECT_THROW(make_replay({rows, rows}, {}), base::UsageError);
}

} // namespace
} // namespace thalweg::source
