// For tests: a short run on storages that fail by plan, and what must be true of whatever it leaves.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/hdf5/format.h"
#include "thalweg/format/page_decoder.h"
#include "thalweg/storage/faulty.h"

namespace thalweg::dataset::testing {

// Row numbers, a waveform, and a list whose length and content follow from producer and row.
inline model::Schema events() {
    return {{{"events",
              {scalar("producer", model::Scalar::uint8), scalar("id", model::Scalar::uint64),
               scalar("waveform", model::Scalar::uint16, {64}), list("hits", scalar("", model::Scalar::uint16))},
              ""}}};
}

inline std::uint64_t hits_of(std::uint8_t who, std::uint64_t row) { return (row * 5 + who) % 7; }

inline void append_events(Producer& out, std::uint8_t who, std::uint64_t first, std::uint64_t rows) {
    PulseRows const pulses(who, first, rows, 64);
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint16_t> hits;
    for (auto row = first; row < first + rows; ++row) {
        lengths.push_back(hits_of(who, row));
        for (std::uint64_t i = 0; i < lengths.back(); ++i) hits.push_back(sample(who, row, 100 + i));
    }
    std::span<std::byte const> const columns[] = {
        std::as_bytes(std::span(pulses.producers)), std::as_bytes(std::span(pulses.ids)),
        std::as_bytes(std::span(pulses.waveforms)), std::as_bytes(std::span(lengths)), std::as_bytes(std::span(hits))};
    out.append(rows, columns);
}

inline CreateOptions small_run_options() {
    CreateOptions options;
    options.shared = false;
    options.layout = {1 << 10, 512, 4 << 20, 4 << 10, "bitshuffle+lz4", "bitshuffle+lz4"};
    options.write.extent_bytes = 4 << 10;
    options.write.queue_depth = 2;
    options.write.staging = {4 << 10, 3, 8};
    options.commit = {1'000'000, 4 << 20, 64 << 10};
    return options;
}

// A column of a table, from a complete file.
template <class Value>
std::vector<Value> column_of(model::RunMap const& map, std::size_t index, storage::Storage const& file) {
    auto const& pages = map.tables[0].columns[index].pages;
    auto const& column = map.head.columns[0][index];
    std::vector<Value> values;
    format::PageDecoder decoder;
    for (auto const& page : pages) {
        auto const begin = values.size();
        values.resize(begin + page.count * column.values_per_item);
        decoder.decode(page, file, {column.scalar, column.item_bytes()}, map.head.layouts[0].columns[index].codec, true,
                       std::as_writable_bytes(std::span(values)).subspan(begin * sizeof(Value)));
    }
    return values;
}

using RowCounts = std::map<std::uint8_t, std::uint64_t>; // by producer

// Every row is what its producer wrote. They come in that producer's order, and what is missing is whole blocks.
inline RowCounts expect_right(storage::Storage const& file) {
    auto const map = format::hdf5::hdf5_format().load(file);
    auto const producers = column_of<std::uint8_t>(map, 0, file);
    auto const ids = column_of<std::uint64_t>(map, 1, file);
    auto const waveforms = column_of<std::uint16_t>(map, 2, file);
    auto const ends = column_of<std::uint64_t>(map, 3, file);
    auto const hits = column_of<std::uint16_t>(map, 4, file);
    auto const rows = map.tables[0].rows;
    EXPECT_EQ(producers.size(), rows);
    EXPECT_EQ(waveforms.size(), rows * 64);
    EXPECT_EQ(ends.size(), rows);
    EXPECT_EQ(hits.size(), rows == 0 ? 0 : ends.back());
    RowCounts next, counts;
    std::uint64_t hit = 0;
    for (std::uint64_t row = 0; row < rows && !::testing::Test::HasFailure(); ++row) {
        auto const who = producers[row];
        auto const id = ids[row];
        if (id != next[who]) {
            EXPECT_GT(id, next[who]);
            EXPECT_EQ(id % map.head.layouts[0].block_rows, 0u);
            EXPECT_EQ(next[who] % map.head.layouts[0].block_rows, 0u);
        }
        next[who] = id + 1;
        ++counts[who];
        for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(waveforms[row * 64 + i], sample(who, id, i));
        EXPECT_EQ(ends[row] - hit, hits_of(who, id));
        for (std::uint64_t i = 0; i < hits_of(who, id); ++i) EXPECT_EQ(hits[hit++], sample(who, id, 100 + i));
    }
    return counts;
}

// What the journal says up to where its last BARRIER reaches; nothing where it has none.
inline RowCounts rows_before_barrier(storage::Storage const& journal, storage::Storage const& file) {
    std::uint64_t end = 0;
    read_journal(journal, [&](RecordView const& record) {
        if (record.type == RecordType::barrier) std::memcpy(&end, record.payload.data(), sizeof end);
        return true;
    });
    RowCounts counts;
    if (end == 0) return counts;
    std::vector<std::byte> bytes(end);
    journal.read(0, bytes);
    auto const cut = storage::make_memory_storage("cut");
    cut->write(0, bytes);
    auto const gathered = gather(*cut, file, false);
    for (auto const& part : gathered.facts.tables[0]) {
        for (auto const& range : part.rows) counts[static_cast<std::uint8_t>(part.producer)] += range.count;
    }
    return counts;
}

// Two producers, used in turn by one thread, and a close; until something fails.
class BadDay {
  public:
    static constexpr std::uint64_t kRows = 300;

    explicit BadDay(storage::FaultPlan const& plan, unsigned seal_threads = 0)
        : faults_(std::make_shared<storage::Faults>(plan)),
          file(std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5"), faults_)),
          journal(std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5.journal"), faults_)) {
        auto options = small_run_options();
        options.write.seal_threads = seal_threads;
        try {
            auto const head = model::make_run_head(events(), options.layout, {});
            auto const writer = Writer::create_on(file, journal, format::hdf5::hdf5_format(), head, options);
            std::vector<Producer> producers;
            for (int i = 0; i < 2; ++i) producers.push_back(writer->producer("events"));
            attempt([&] { append(producers); });
            for (auto& producer : producers) attempt([&] { producer.finish(); });
            attempt([&] {
                writer->close(kTimeoutNs);
                closed = true;
            });
        } catch (base::Error const& error) {
            errors.push_back(error.what());
        }
    }

    std::uint64_t operations() const { return faults_->counts().operations; }
    storage::FaultCounts counts() const { return faults_->counts(); }
    bool power_is_off() const { return faults_->power_is_off(); }

  private:
    void append(std::vector<Producer>& producers) {
        for (std::uint64_t row = 0; row < kRows; row += 10) {
            for (std::uint8_t who = 0; who < 2; ++who) {
                append_events(producers[who], who, row, 10);
                published[who] = row + 10;
            }
        }
    }
    template <class Work> void attempt(Work const& work) {
        try {
            work();
        } catch (base::Error const& error) {
            errors.push_back(error.what());
        }
    }

    std::shared_ptr<storage::Faults> faults_;

  public:
    std::shared_ptr<storage::FaultyStorage> file;
    std::shared_ptr<storage::FaultyStorage> journal;
    RowCounts published;
    bool closed = false;
    std::vector<std::string> errors;
};

} // namespace thalweg::dataset::testing
