// For the tests of this folder: rows with lists of lists, which follow from their producer and their number.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <span>
#include <vector>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset::testing {

// Producer, row, and lists of lists whose lengths and values follow from the two.
inline model::Schema events() {
    model::Field const value = scalar("value", model::Scalar::float32);
    model::Field const hit{
        "hit", model::Kind::record, {}, {}, {scalar("channel", model::Scalar::int32), list("samples", value)}, "", ""};
    return {{{"events",
              {scalar("producer", model::Scalar::uint8), scalar("id", model::Scalar::uint64), list("hits", hit)},
              ""}}};
}

inline std::uint64_t hits_of(std::uint64_t producer, std::uint64_t row) { return (row * 7 + producer) % 5; }
inline std::uint64_t samples_of(std::uint64_t row, std::uint64_t hit) { return (row + hit * 3) % 4; }

struct EventRows {
    EventRows(std::uint8_t producer, std::uint64_t first, std::uint64_t rows) : count(rows) {
        for (auto row = first; row < first + rows; ++row) {
            producers.push_back(producer);
            ids.push_back(row);
            hits.push_back(hits_of(producer, row));
            for (std::uint64_t hit = 0; hit < hits.back(); ++hit) {
                channels.push_back(static_cast<std::int32_t>(hit) - 2);
                samples.push_back(samples_of(row, hit));
                for (std::uint64_t i = 0; i < samples.back(); ++i) values.push_back(static_cast<float>(row * 10 + i));
            }
        }
    }
    std::vector<std::span<std::byte const>> columns() const {
        return {std::as_bytes(std::span(producers)), std::as_bytes(std::span(ids)),
                std::as_bytes(std::span(hits)),      std::as_bytes(std::span(channels)),
                std::as_bytes(std::span(samples)),   std::as_bytes(std::span(values))};
    }

    std::uint64_t count;
    std::vector<std::uint8_t> producers;
    std::vector<std::uint64_t> ids, hits, samples;
    std::vector<std::int32_t> channels;
    std::vector<float> values;
};

template <class Value> std::vector<Value> items(Reader const& reader, std::size_t column, ItemRange range) {
    std::vector<Value> values(range.count);
    reader.read(0, column, range, std::as_writable_bytes(std::span(values)));
    return values;
}

using RowCounts = std::map<std::uint8_t, std::uint64_t>;

// Rows [first, first + count) are what their producers wrote; `is_whole`: also in their order, from the first on.
inline RowCounts expect_right_rows(Reader const& reader, std::uint64_t first, std::uint64_t count, bool is_whole) {
    RowCounts rows;
    auto const producers = items<std::uint8_t>(reader, 0, {first, count});
    auto const ids = items<std::uint64_t>(reader, 1, {first, count});
    auto const hits = items<std::uint64_t>(reader, 2, {first, count});
    auto const elements = reader.elements(0, 2, {first, count});
    auto const channels = items<std::int32_t>(reader, 3, elements);
    auto const samples = items<std::uint64_t>(reader, 4, elements);
    auto const value_range = reader.elements(0, 4, elements);
    auto const values = items<float>(reader, 5, value_range);
    std::size_t hit_at = 0, value_at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (is_whole) {
            EXPECT_EQ(ids[i], rows[producers[i]]) << "row " << i;
        }
        ++rows[producers[i]];
        if (hits[i] != hits_of(producers[i], ids[i])) ADD_FAILURE() << "row " << i << ": " << hits[i] << " hits";
        for (std::uint64_t hit = 0; hit < hits[i]; ++hit, ++hit_at) {
            if (hit_at >= channels.size() || samples[hit_at] != samples_of(ids[i], hit)) {
                ADD_FAILURE() << "row " << i << ", hit " << hit;
                return rows;
            }
            EXPECT_EQ(channels[hit_at], static_cast<std::int32_t>(hit) - 2);
            for (std::uint64_t s = 0; s < samples[hit_at]; ++s, ++value_at) {
                EXPECT_EQ(values.at(value_at), static_cast<float>(ids[i] * 10 + s));
            }
        }
    }
    EXPECT_EQ(hit_at, channels.size());
    EXPECT_EQ(value_at, values.size());
    return rows;
}

inline RowCounts expect_right_rows(Reader const& reader) { return expect_right_rows(reader, 0, reader.rows(0), true); }

} // namespace thalweg::dataset::testing
