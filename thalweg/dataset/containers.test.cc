// What every container must do, and what only containers with clusters can.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "thalweg/dataset/event_rows.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

void write_rows(Writer& writer, std::uint8_t who, std::uint64_t rows, std::uint64_t batch = 97) {
    auto producer = writer.producer("events");
    for (std::uint64_t row = 0; row < rows; row += batch) {
        EventRows const some(who, row, std::min(batch, rows - row));
        producer.append(some.count, some.columns());
    }
    producer.finish();
}

CreateOptions small_pages(std::string const& codec = "zstd-1") {
    CreateOptions options;
    options.layout.wide_codec = options.layout.narrow_codec = codec;
    options.layout.narrow_page_bytes = 2048;
    options.layout.cluster_bytes = 64 << 10;
    return options;
}

// The least that a cluster of these columns has is 64 KiB each.
constexpr std::uint64_t kRowsOfContainer = 40'000;

class Containers : public ::testing::TestWithParam<char const*> {
  protected:
    std::string path() const { return directory.file(std::string("run") + GetParam()); }

    Directory directory;
};

TEST_P(Containers, ReadBackWithAnyCodecAndRowRange) {
    for (auto const* codec : {"zstd-1", "none", "lz4", "deflate-1"}) {
        SCOPED_TRACE(codec);
        Directory const other;
        auto const path = other.file(std::string("run") + GetParam());
        auto const writer = Writer::create(path, events(), small_pages(codec), {{"detector", "prototype"}});
        {
            std::jthread const first([&] { write_rows(*writer, 0, kRowsOfContainer); });
            std::jthread const second([&] { write_rows(*writer, 1, kRowsOfContainer / 2, 1031); });
        }
        write_rows(*writer, 2, 5);
        auto const result = writer->close(kTimeoutNs);
        EXPECT_EQ(result.file_bytes, std::filesystem::file_size(path));
        auto const reader = Reader::open(path);
        EXPECT_FALSE(reader->is_open_run());
        EXPECT_EQ(reader->metadata().at("detector"), "prototype");
        EXPECT_EQ(expect_right_rows(*reader), (RowCounts{{0, kRowsOfContainer}, {1, kRowsOfContainer / 2}, {2, 5}}));
        std::mt19937 random(4);
        for (int i = 0; i < 50; ++i) {
            auto const from = random() % reader->rows(0);
            expect_right_rows(*reader, from, 1 + random() % std::min<std::uint64_t>(3000, reader->rows(0) - from),
                              from == 0);
        }
        auto const verification = verify(path);
        EXPECT_EQ(verification.faults, 0u) << verification.messages[0];
        EXPECT_EQ(verification.pages_without_checksum, 0u);
        EXPECT_EQ(verification.adler32, result.adler32);
    }
}

TEST_P(Containers, RunWithoutRowsIsComplete) {
    auto const writer = Writer::create(path(), events(), {});
    writer->close(kTimeoutNs);
    auto const reader = Reader::open(path());
    EXPECT_FALSE(reader->is_open_run());
    EXPECT_EQ(reader->rows(0), 0u);
}

TEST_P(Containers, SealThreadsShareThePagesOfOneProducer) {
    auto options = small_pages();
    options.write.seal_threads = 3;
    auto const writer = Writer::create(path(), events(), options);
    write_rows(*writer, 0, 3 * kRowsOfContainer);
    writer->close(kTimeoutNs);
    EXPECT_EQ(expect_right_rows(*Reader::open(path())), (RowCounts{{0, 3 * kRowsOfContainer}}));
}

INSTANTIATE_TEST_SUITE_P(All, Containers, ::testing::Values(".h5", ".root"),
                         [](auto const& each) { return std::string(each.param).substr(1); });

TEST(Clusters, AnOpenRunIsReadableThroughItsJournalAndThroughItsInterimFooters) {
    Directory const directory;
    auto const path = directory.file("run.root");
    auto options = small_pages("none");
    options.commit.flush_interval_ns = 20'000'000;
    options.commit.interim_footer_share = 0.5;
    auto const writer = Writer::create(path, events(), options);
    std::uint64_t shown = 0;
    auto const look = [&] { // as programs that know nothing of the journal
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        auto const map = format::rntuple::rntuple_format().load(*file);
        EXPECT_FALSE(map.closed);
        EXPECT_GE(map.tables[0].rows, shown);
        shown = map.tables[0].rows;
    };
    auto const soon = [](auto const& condition) {
        for (int i = 0; i < 1500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    for (std::uint8_t round = 0; round < 5; ++round) {
        write_rows(*writer, round, kRowsOfContainer);
        soon([&] { return Reader::open(path)->rows(0) == (round + 1) * kRowsOfContainer; });
        EXPECT_EQ(expect_right_rows(*Reader::open(path)).at(round), kRowsOfContainer);
        look();
        auto const copy = directory.file("copy.root");
        std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
        auto const reader = Reader::open(copy);
        EXPECT_TRUE(reader->is_open_run());
        expect_right_rows(*reader);
    }
    soon([&] { return look(), shown > 2 * kRowsOfContainer; });
    EXPECT_GT(shown, 2 * kRowsOfContainer);
    writer->close(kTimeoutNs);
    EXPECT_EQ(expect_right_rows(*Reader::open(path)).size(), 5u);
}

TEST_P(Containers, AnAbandonedRunLosesNothingThatWasAppended) {
    for (std::uint64_t const rows : {1ull, 5000ull, 30'001ull, 99'999ull}) {
        SCOPED_TRACE(rows);
        Directory const other;
        auto const path = other.file(std::string("run") + GetParam());
        {
            auto const writer = Writer::create(path, events(), small_pages());
            auto producer = writer->producer("events");
            for (std::uint64_t row = 0; row < rows; row += 500) {
                EventRows const some(0, row, std::min<std::uint64_t>(500, rows - row));
                producer.append(some.count, some.columns());
            }
            write_rows(*writer, 1, 7);
        } // neither finished nor closed
        EXPECT_EQ(expect_right_rows(*Reader::open(path)), (RowCounts{{0, rows}, {1, 7}}));
        auto const result = recover(path);
        EXPECT_EQ(result.report.tables[0].rows, rows + 7);
        EXPECT_EQ(result.report.tables[0].lost_rows, 0u);
        auto const reader = Reader::open(path);
        EXPECT_FALSE(reader->is_open_run());
        EXPECT_EQ(expect_right_rows(*reader), (RowCounts{{0, rows}, {1, 7}}));
        EXPECT_EQ(verify(path).faults, 0u);
    }
}

TEST_P(Containers, RowsMayBeLargerThanTheStaging) {
    auto const path = this->path();
    model::Schema const schema{{{"t", {list("values", scalar("value", model::Scalar::uint64))}, ""}}};
    auto options = small_pages("none");
    options.write.staging.page_ring_bytes = 1 << 20;
    auto const writer = Writer::create(path, schema, options);
    std::vector<std::uint64_t> values(3'000'000);
    std::iota(values.begin(), values.end(), 0);
    std::vector<std::uint64_t> const lengths{values.size() - 10, 0, 10};
    {
        auto producer = writer->producer("t");
        producer.append(3, std::vector<std::span<std::byte const>>{std::as_bytes(std::span(lengths)),
                                                                   std::as_bytes(std::span(values))});
        producer.finish();
    }
    writer->close(kTimeoutNs);
    auto const reader = Reader::open(path);
    EXPECT_EQ(items<std::uint64_t>(*reader, 0, {0, 3}), lengths);
    EXPECT_EQ(reader->elements(0, 0, {2, 1}).first, values.size() - 10);
    EXPECT_EQ(items<std::uint64_t>(*reader, 1, {0, values.size()}), values);
}

} // namespace
} // namespace thalweg::dataset
