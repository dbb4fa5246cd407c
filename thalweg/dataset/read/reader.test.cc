#include "thalweg/dataset/read/reader.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kSamples = 700;

// Every row of the table is what its producer wrote, in that producer's order, from its first row on.
void expect_sound(Reader const& reader) {
    auto const rows = reader.rows(0);
    std::vector<std::uint8_t> producers(rows);
    std::vector<std::uint64_t> ids(rows);
    std::vector<std::uint16_t> waveforms(rows * kSamples);
    reader.read(0, 0, {0, rows}, std::as_writable_bytes(std::span(producers)));
    reader.read(0, 1, {0, rows}, std::as_writable_bytes(std::span(ids)));
    reader.read(0, 2, {0, rows}, std::as_writable_bytes(std::span(waveforms)));
    std::map<std::uint8_t, std::uint64_t> next;
    for (std::uint64_t i = 0; i < rows; ++i) {
        ASSERT_EQ(ids[i], next[producers[i]]++);
        for (std::uint64_t s = 0; s < kSamples; ++s) {
            ASSERT_EQ(waveforms[i * kSamples + s], sample(producers[i], ids[i], s)) << "row " << i;
        }
    }
}

void write_rows(Writer& writer, std::uint8_t who, std::uint64_t rows) {
    auto producer = writer.producer("pulses");
    for (std::uint64_t row = 0; row < rows; row += 11) {
        PulseRows(who, row, std::min<std::uint64_t>(11, rows - row), kSamples).append_to(producer);
    }
    producer.finish();
}

TEST(Reader, ReadsWhatWasWrittenWithAnyCodec) {
    for (auto const* codec : {"none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1", "zstd-1"}) {
        SCOPED_TRACE(codec);
        Directory const directory;
        CreateOptions options;
        options.layout.wide_codec = options.layout.narrow_codec = codec;
        auto const writer = Writer::create(directory.file("run.h5"), pulses(kSamples), options);
        write_rows(*writer, 0, 3000);
        write_rows(*writer, 1, 1234);
        auto const result = writer->close(kTimeoutNs);
        auto const reader = Reader::open(directory.file("run.h5"));
        EXPECT_FALSE(reader->is_open_run());
        EXPECT_EQ(reader->rows(0), 4234u);
        expect_sound(*reader);
        auto const verification = verify(directory.file("run.h5"));
        EXPECT_EQ(verification.faults, 0u) << verification.messages[0];
        EXPECT_EQ(verification.pages_without_checksum, 0u);
        EXPECT_EQ(verification.adler32, result.adler32);
    }
}

TEST(Reader, RowRangesAndProjectionsCostOnlyTheirPages) {
    Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), pulses(kSamples), {});
    write_rows(*writer, 3, 5000);
    writer->close(kTimeoutNs);
    auto const reader = Reader::open(directory.file("run.h5"));
    std::vector<std::uint64_t> ids(5);
    reader->read(0, 1, {4000, 5}, std::as_writable_bytes(std::span(ids)));
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{4000, 4001, 4002, 4003, 4004}));
    EXPECT_LT(reader->bytes_read(), 40'000u);
    EXPECT_THROW(reader->read(0, 1, {4998, 5}, std::as_writable_bytes(std::span(ids))), base::DataError);
}

TEST(Reader, SeesAnOpenRunAtAnyMoment) {
    Directory const directory;
    CreateOptions options;
    options.commit.flush_interval_ns = 20'000'000;
    auto const writer = Writer::create(directory.file("run.h5"), pulses(kSamples), options);
    std::atomic<bool> done = false;
    std::jthread thread([&] {
        write_rows(*writer, 0, 30'000);
        done = true;
    });
    std::uint64_t seen = 0;
    while (!done) {
        auto const reader = Reader::open(directory.file("run.h5"));
        EXPECT_TRUE(reader->is_open_run());
        EXPECT_GE(reader->rows(0), seen);
        seen = reader->rows(0);
        expect_sound(*reader);
    }
    EXPECT_GT(seen, 0u);
    thread.join();
    writer->close(kTimeoutNs);
    EXPECT_EQ(Reader::open(directory.file("run.h5"))->rows(0), 30'000u);
}

TEST(Reader, AnAbandonedRunIsReadableAndRecoverable) {
    Directory const directory;
    {
        auto const writer = Writer::create(directory.file("run.h5"), pulses(kSamples), {});
        auto producer = writer->producer("pulses");
        PulseRows(0, 0, 1003, kSamples).append_to(producer);
    } // neither finished nor closed
    EXPECT_EQ(Reader::open(directory.file("run.h5"))->rows(0), 1003u);
    auto const result = recover(directory.file("run.h5"));
    EXPECT_EQ(result.report.tables[0].rows, 1003u);
    auto const reader = Reader::open(directory.file("run.h5"));
    EXPECT_FALSE(reader->is_open_run());
    expect_sound(*reader);
    EXPECT_THROW(recover(directory.file("run.h5")), base::UsageError);
}

TEST(Verify, FindsEveryFlippedPayloadByte) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const writer = Writer::create(path, pulses(kSamples), {});
    write_rows(*writer, 0, 600);
    writer->close(kTimeoutNs);
    auto const reader = Reader::open(path);
    std::mt19937 random(3);
    for (auto const& column : reader->tables()[0].columns) {
        for (auto const& page : column.pages) {
            auto const offset = page.offset + random() % page.stored_bytes;
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            file.seekg(static_cast<std::streamoff>(offset));
            auto const byte = static_cast<char>(file.get());
            file.seekp(static_cast<std::streamoff>(offset));
            file.put(static_cast<char>(byte ^ (1 << random() % 8)));
            file.close();
            EXPECT_EQ(verify(path).faults, 1u) << offset;
            std::fstream again(path, std::ios::in | std::ios::out | std::ios::binary);
            again.seekp(static_cast<std::streamoff>(offset));
            again.put(byte);
        }
    }
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST(Reader, ListsOfManyProducersComeBackRowByRow) {
    Directory const directory;
    model::Field hit{"",
                     model::Kind::record,
                     model::Scalar::float64,
                     {},
                     {scalar("e", model::Scalar::float32), list("t", scalar("", model::Scalar::uint16))},
                     "",
                     ""};
    model::Schema const schema{{{"events", {scalar("id", model::Scalar::uint64), list("hits", hit)}, ""}}};
    auto const writer = Writer::create(directory.file("run.h5"), schema, {});
    auto const hits_of = [](std::uint64_t id) { return id % 5; };
    for (std::uint64_t who = 0; who < 3; ++who) {
        auto producer = writer->producer("events");
        for (std::uint64_t row = 0; row < 9'000 + who * 777; ++row) {
            auto const id = who * 1'000'000 + row;
            std::vector<std::uint64_t> inner(hits_of(id), 2);
            std::vector<float> energies(hits_of(id), static_cast<float>(row));
            std::vector<std::uint16_t> times(hits_of(id) * 2, static_cast<std::uint16_t>(row));
            auto const hits = hits_of(id);
            std::span<std::byte const> const columns[] = {
                std::as_bytes(std::span(&id, 1)), std::as_bytes(std::span(&hits, 1)),
                std::as_bytes(std::span(energies)), std::as_bytes(std::span(inner)), std::as_bytes(std::span(times))};
            producer.append(1, columns);
        }
        producer.finish();
    }
    auto const check = [&](Reader const& reader) {
        auto const rows = reader.rows(0);
        ASSERT_EQ(rows, 29'331u);
        std::vector<std::uint64_t> ids(rows), lengths(rows);
        reader.read(0, 0, {0, rows}, std::as_writable_bytes(std::span(ids)));
        reader.read(0, 1, {0, rows}, std::as_writable_bytes(std::span(lengths)));
        auto const from = rows / 3;
        auto const elements = reader.elements(0, 1, {from, rows - from});
        std::vector<float> energies(elements.count);
        reader.read(0, 2, elements, std::as_writable_bytes(std::span(energies)));
        auto const inner = reader.elements(0, 3, elements);
        std::vector<std::uint16_t> times(inner.count);
        reader.read(0, 4, inner, std::as_writable_bytes(std::span(times)));
        std::size_t at = 0;
        for (auto row = from; row < rows; ++row) {
            ASSERT_EQ(lengths[row], hits_of(ids[row]));
            for (std::uint64_t i = 0; i < lengths[row]; ++i, ++at) {
                ASSERT_EQ(energies[at], static_cast<float>(ids[row] % 1'000'000));
                ASSERT_EQ(times[2 * at + 1], static_cast<std::uint16_t>(ids[row] % 1'000'000));
            }
        }
        EXPECT_EQ(at, elements.count);
        EXPECT_EQ(inner.count, 2 * elements.count);
    };
    while (!writer->status().producers.empty() && Reader::open(directory.file("run.h5"))->rows(0) < 29'331) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the committer journals the rest of each producer
    }
    check(*Reader::open(directory.file("run.h5")));
    writer->close(kTimeoutNs);
    check(*Reader::open(directory.file("run.h5")));
}

} // namespace
} // namespace thalweg::dataset
