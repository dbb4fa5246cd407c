// For tests: a short run on storages that fail by plan, and what must be true of whatever it leaves.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/test_segments.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/page_decoder.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/storage/test_faulty.h"

namespace thalweg::dataset::testing {

// Row numbers, a waveform, and a list whose length and content follow from producer and row.
inline model::Schema events(std::uint64_t samples = 64) {
    return {{{"events",
              {scalar("producer", model::Scalar::uint8), scalar("id", model::Scalar::uint64),
               scalar("waveform", model::Scalar::uint16, {samples}), list("hits", scalar("", model::Scalar::uint16))},
              ""}}};
}

inline std::uint64_t hits_of(std::uint8_t who, std::uint64_t row) { return (row * 5 + who) % 7; }

inline void append_events(Producer& out, std::uint8_t who, std::uint64_t first, std::uint64_t rows,
                          std::uint64_t samples = 64) {
    PulseRows const pulses(who, first, rows, samples);
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

inline std::vector<std::byte> bytes_of(std::string const& path) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    std::vector<std::byte> bytes(file->size());
    file->read(0, bytes);
    return bytes;
}

// In place: the file stays the one that the journal names.
inline void overwrite(std::string const& path, std::uint64_t offset, std::span<std::byte const> bytes) {
    storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix)->write(offset, bytes);
}

inline CreateOptions small_run_options() {
    CreateOptions options;
    options.shared = false;
    options.layout = {1 << 10, 512, 4 << 20, 4 << 10, "bitshuffle+lz4", "bitshuffle+lz4"};
    options.write.extent_bytes = 4 << 10;
    options.write.queue_depth = 2;
    options.write.staging = {4 << 10, 3, 8, 64 << 10};
    options.commit = {.flush_interval_ns = 1'000'000,
                      .interim_footer_share = 10,
                      .allocate_ahead_bytes = 4 << 20,
                      .rows_budget_bytes = 64 << 10};
    options.journal = {.main_rows_bytes = 0, .segment_bytes = 9 << 10, .slack_bytes = 16 << 10};
    return options;
}

// The same of a run that other processes may attach to.
inline CreateOptions small_shared_options() {
    auto options = small_run_options();
    options.shared = true;
    return options;
}

// What bad days are tried on.
struct Container {
    std::string path;
    format::Format const& format;
    bool opens_early = false; // from its beginning on, and not only from the first interim metadata on

    std::string journal_path() const { return path + ".journal"; }

    model::RunHead head() const {
        auto layout = small_run_options().layout;
        if (opens_early) layout.wide_codec = layout.narrow_codec = "lz4";
        auto head = format.make_head(events(), layout, {});
        if (opens_early) head.layouts[0].cluster_bytes = 4 << 10; // so that there are many, with a few pages each
        return head;
    }

    // Whether other programs open it, complete or not. Short writes tear sectors here, which the checksum of one shows.
    bool opens(storage::Storage const& file) const {
        return opens_early || format::hdf5::ours::has_superblock(file) ||
               format::hdf5::ours::has_whole_interim_sector(file);
    }

    bool is_complete(storage::Storage const& file) const {
        return opens_early ? format.load(file).closed : format::hdf5::ours::has_superblock(file);
    }
};

inline std::ostream& operator<<(std::ostream& out, Container const& container) { return out << container.path; }

inline Container hdf5_container() { return {"run.h5", format::hdf5::files::hdf5_format()}; }
inline Container rntuple_container() { return {"run.root", format::rntuple::rntuple_format(), true}; }

// A column of a table, as the file stores it.
template <class Value>
std::vector<Value> column_of(model::RunMap const& map, std::size_t index, storage::Storage const& file) {
    auto const& column = map.head.columns[0][index];
    auto const& pages = map.tables[0].columns[index];
    auto const values_per_unit = pages.by_value ? 1 : column.values_per_item;
    std::vector<Value> values;
    format::PageDecoder decoder;
    for (auto const& page : pages.pages) {
        auto const begin = values.size();
        values.resize(begin + page.count * values_per_unit);
        decoder.decode(page, file, {column.scalar, values_per_unit * sizeof(Value)},
                       map.head.layouts[0].columns[index].codec, true,
                       std::as_writable_bytes(std::span(values)).subspan(begin * sizeof(Value)));
    }
    return values;
}

// Returns the end of the elements of each row, counted over the whole table.
inline std::vector<std::uint64_t> ends_of(model::RunMap const& map, std::size_t index, storage::Storage const& file) {
    auto ends = column_of<std::uint64_t>(map, index, file);
    std::uint64_t before = 0, cluster = 0;
    for (auto const& page : map.tables[0].columns[index].pages) {
        if (!page.sums) continue;
        if (page.cluster != cluster) before = ends[page.first - 1];
        cluster = page.cluster;
        for (std::uint64_t i = 0; i < page.count; ++i) ends[page.first + i] += before;
    }
    return ends;
}

// Whether what a damaged page costs may begin at a row: where a block of its producer begins, or a cluster of the
// table.
inline bool may_follow_gap(model::RunMap const& map, std::uint64_t row, std::uint64_t id) {
    if (map.head.layouts[0].cluster_bytes == 0) return id % map.head.layouts[0].block_rows == 0;
    return model::slice(map.tables[0].columns[0].pages, row, 1)[0].cluster == row;
}

using RowCounts = std::map<std::uint8_t, std::uint64_t>; // by producer

// Every row is what its producer wrote. They come in that producer's order, and what is missing is whole blocks.
inline RowCounts expect_right(storage::Storage const& file) {
    auto const map = format_for(file.path()).load(file);
    auto const producers = column_of<std::uint8_t>(map, 0, file);
    auto const ids = column_of<std::uint64_t>(map, 1, file);
    auto const waveforms = column_of<std::uint16_t>(map, 2, file);
    auto const ends = ends_of(map, 3, file);
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
            EXPECT_TRUE(may_follow_gap(map, row, id)) << "row " << row;
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
inline RowCounts rows_before_barrier(JournalFiles const& journal, storage::Storage const& file) {
    std::uint64_t end = 0;
    read_journal(journal, [&](JournalRecord const& record) {
        if (record.type == RecordType::barrier) std::memcpy(&end, record.payload.data(), sizeof end);
        return true;
    });
    RowCounts counts;
    if (end == 0) return counts;
    std::vector<std::byte> bytes(end);
    journal.main->read(0, bytes);
    std::shared_ptr<storage::Storage> const cut = storage::make_memory_storage("cut");
    cut->write(0, bytes);
    auto const gathered = gather({cut, journal.segments}, file, RunState::open);
    for (auto const& part : gathered.facts.tables[0]) {
        for (auto const& range : part.rows) counts[static_cast<std::uint8_t>(part.producer)] += range.count;
    }
    return counts;
}

// Two producers, used in turn by one thread, and a close; until something fails.
class BadDay {
  public:
    static constexpr std::uint64_t kRows = 300;

    BadDay(Container const& container, storage::FaultPlan const& plan, unsigned seal_threads = 0)
        : faults_(std::make_shared<storage::Faults>(plan)), file(make_file(container.path)),
          journal(make_file(container.journal_path())), segments(std::make_shared<FaultySegments>(faults_)) {
        auto options = small_run_options();
        options.write.seal_threads = seal_threads;
        try {
            auto const writer =
                Writer::create_on(file, {journal, segments}, container.format, container.head(), options);
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
    std::shared_ptr<storage::FaultyStorage> make_file(std::string const& path) const {
        return std::make_shared<storage::FaultyStorage>(storage::make_memory_storage(path), faults_);
    }
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
    std::shared_ptr<FaultySegments> segments;
    RowCounts published;
    bool closed = false;
    std::vector<std::string> errors;
};

} // namespace thalweg::dataset::testing
