// A run that was killed in its close goes on: what the file shows by then stays readable.
#include <filesystem>
#include <gtest/gtest.h>

#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kSector = 512;

CreateOptions without_flushes() {
    auto options = small_run_options();
    options.shared = true;
    options.layout.wide_codec = options.layout.narrow_codec = "lz4";
    options.commit.flush_interval_ns = 3600'000'000'000;
    return options;
}

// The close has written everything but the first sector: anchors name its footers, which no journal knows.
TEST(ResumeAfterClose, WhatTheFileShowsIsNotWrittenOver) {
    Directory const directory, copies;
    auto const path = directory.file("run.root"), copy = copies.file("run.root");
    constexpr std::uint64_t kRows = 500;
    {
        auto const writer = Writer::create(path, events(), without_flushes());
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, kRows);
        producer.finish();
        writer->abandon();
    }
    auto const before = bytes_of(path);
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(journal_path(path), journal_path(copy));
    EXPECT_EQ(recover(copy).report.tables[0].rows, kRows);
    auto closing = bytes_of(copy);
    std::copy_n(before.begin(), kSector, closing.begin());
    overwrite(path, 0, closing);
    auto const shown = [&] { return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only)); };
    EXPECT_EQ(shown(), (RowCounts{{0, kRows}}));
    auto const writer = Writer::resume(path, events(), without_flushes());
    auto producer = writer->producer("events");
    append_events(producer, 1, 0, kRows);
    producer.finish();
    EXPECT_EQ(shown(), (RowCounts{{0, kRows}}));
    EXPECT_EQ(writer->close(10'000'000'000).report.tables[0].rows, 2 * kRows);
    EXPECT_EQ(shown(), (RowCounts{{0, kRows}, {1, kRows}}));
}

} // namespace
} // namespace thalweg::dataset
