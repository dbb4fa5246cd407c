// Pulses of a run that is read while it is written: it has many small pages, and is flushed often.
#pragma once

#include <gtest/gtest.h>
#include <map>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset::testing {

inline constexpr std::uint64_t kSamples = 40;

inline CreateOptions often_flushed() {
    CreateOptions options;
    options.layout.wide_page_bytes = options.layout.narrow_page_bytes.emplace(4096);
    options.layout.cluster_bytes = 64 << 10;
    options.commit.flush_interval_ns = 20'000'000;
    return options;
}

// Returns the number of rows of each producer: those from its first on, none missing in between, with the values that
// they were given.
inline std::map<std::uint8_t, std::uint64_t> rows_of_producers(std::string const& path) {
    auto const reader = Reader::open(path);
    EXPECT_FALSE(reader->is_open_run());
    auto const rows = reader->rows(0);
    std::vector<std::uint8_t> producers(rows);
    std::vector<std::uint64_t> ids(rows);
    std::vector<std::uint16_t> waveforms(rows * kSamples);
    reader->read(0, 0, {0, rows}, std::as_writable_bytes(std::span(producers)));
    reader->read(0, 1, {0, rows}, std::as_writable_bytes(std::span(ids)));
    reader->read(0, 2, {0, rows}, std::as_writable_bytes(std::span(waveforms)));
    std::map<std::uint8_t, std::uint64_t> next;
    for (std::uint64_t row = 0; row < rows; ++row) {
        EXPECT_EQ(ids[row], next[producers[row]]++) << path;
        for (std::uint64_t i = 0; i < kSamples; ++i) {
            EXPECT_EQ(waveforms[row * kSamples + i], sample(producers[row], ids[row], i));
        }
        if (::testing::Test::HasFailure()) break;
    }
    return next;
}

} // namespace thalweg::dataset::testing
