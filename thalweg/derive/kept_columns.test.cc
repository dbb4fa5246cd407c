#include "thalweg/derive/kept_columns.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "thalweg/base/error.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/format/rntuple/merge.h"
#include "thalweg/storage/storage.h"

namespace thalweg::derive {
namespace {

using namespace dataset;
using namespace dataset::testing;
using namespace format::rntuple;

constexpr std::uint64_t kRows = 300'000; // some clusters

model::Schema events() {
    return {{{"t",
              {scalar("id", model::Scalar::uint64), list("hits", scalar("", model::Scalar::uint16)),
               scalar("pair", model::Scalar::int32, {2}), scalar("flag", model::Scalar::boolean)},
              ""}}};
}

struct Events {
    Events(std::uint64_t first, std::uint64_t rows) {
        for (auto id = first; id < first + rows; ++id) add(id);
    }
    void add(std::uint64_t id) {
        ids.push_back(id);
        lengths.push_back(id * 7 % 5);
        for (std::uint64_t i = 0; i < lengths.back(); ++i) hits.push_back(sample(1, id, i));
        pairs.push_back(-static_cast<std::int32_t>(id));
        pairs.push_back(static_cast<std::int32_t>(id * 3));
        flags.push_back(id % 3 == 0);
    }
    std::vector<std::span<std::byte const>> columns() const {
        return {std::as_bytes(std::span(ids)), std::as_bytes(std::span(lengths)), std::as_bytes(std::span(hits)),
                std::as_bytes(std::span(pairs)), std::as_bytes(std::span(flags))};
    }

    std::vector<std::uint64_t> ids, lengths;
    std::vector<std::uint16_t> hits;
    std::vector<std::int32_t> pairs;
    std::vector<std::uint8_t> flags;
};

CreateOptions with_codec(std::string const& codec) {
    CreateOptions options;
    options.layout.narrow_codec = options.layout.wide_codec = codec;
    options.layout.cluster_bytes = 1 << 20;
    return options;
}

void write(std::string const& path, std::uint64_t first, std::string const& codec) {
    auto const writer = Writer::create(path, events(), with_codec(codec));
    auto producer = writer->producer("t");
    for (std::uint64_t rows = 0; rows < kRows; rows += 1000)
        producer.append(1000, Events(first + rows, 1000).columns());
    producer.finish();
    writer->close(kTimeoutNs);
}

void expect_events(std::string const& path, Events const& wanted) {
    auto const reader = Reader::open(path);
    ASSERT_EQ(reader->rows(0), wanted.ids.size());
    auto const columns = wanted.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        ItemRange const items = i == 2 ? reader->elements(0, 1, {0, reader->rows(0)}) : ItemRange{0, reader->rows(0)};
        std::vector<std::uint64_t> room(columns[i].size() / 8 + 1);
        auto const bytes = std::as_writable_bytes(std::span(room)).first(columns[i].size());
        reader->read(0, i, items, bytes);
        EXPECT_TRUE(std::ranges::equal(bytes, columns[i])) << "column " << i;
    }
}

std::vector<std::string> const kAll{"id", "hits", "pair", "flag"};

// All rows of `input` into a new file, or those of a mask; returns what was copied.
CopiedPages slim(std::string const& path, Reader const& input, std::string const& codec, CopyPages copy,
                 std::vector<std::byte> const& mask = {}) {
    auto const writer = Writer::create(path, events(), with_codec(codec));
    auto const kept = KeptColumns::find(input, 0, stored_clusters(input, 0), writer->head(), "t", kAll, copy);
    EXPECT_NE(kept, nullptr);
    auto unit = writer->work_unit(0, "");
    kept->append({0, input.rows(0)}, mask, {}, unit["t"]);
    unit.commit();
    writer->close(kTimeoutNs);
    return kept->copied();
}

// As files have them that were merged from several: each column in two forms, of which a cluster has one.
void write_two_forms(std::string const& path, std::vector<std::string> const& parts) {
    std::vector<MergeInput> inputs;
    for (auto const& part : parts) inputs.push_back(read_input(part));
    auto& first = inputs[0].content.ntuples[0].header.schema.columns;
    auto& second = inputs[1].content.ntuples[0].header.schema.columns;
    auto const count = first.size();
    for (auto& column : second) column.representation = 1;
    first.insert(first.end(), second.begin(), second.end());
    second = first;
    for (auto& cluster : inputs[0].content.ntuples[0].clusters) cluster.columns.resize(2 * count, {.suppressed = true});
    for (auto& cluster : inputs[1].content.ntuples[0].clusters)
        cluster.columns.insert(cluster.columns.begin(), count, {.suppressed = true});
    MergedText text;
    text.text = {"merge", "[]"};
    text.seed = "two forms";
    auto const out = storage::open_file_storage(path, storage::OpenMode::create_new, storage::Engine::posix);
    std::optional<MergeInput> no_file_beside;
    merge(inputs, no_file_beside, *out, text, {});
}

struct KeptColumnsTest : ::testing::Test {
    std::string path(std::string const& name) const { return directory.file(name + ".root"); }

    Directory directory;
};

TEST_F(KeptColumnsTest, PagesOfOneFormAreCopiedAndOthersEncoded) {
    write(path("a"), 0, "zstd-3");
    write(path("b"), kRows, "plain+lz4");
    write_two_forms(path("both"), {path("a"), path("b")});
    auto const input = Reader::open(path("both"));
    Events const wanted(0, 2 * kRows);
    expect_events(path("both"), wanted);
    EXPECT_EQ(slim(path("never"), *input, "zstd-3", CopyPages::never).pages, 0u);
    expect_events(path("never"), wanted);
    for (std::string const codec : {"zstd-3", "plain+lz4"}) { // the other half is encoded
        auto const copied = slim(path(codec), *input, codec, CopyPages::always);
        EXPECT_GT(copied.pages, 20u);
        EXPECT_EQ(copied.rows, kRows) << codec;
        expect_events(path(codec), wanted);
    }
    auto const worth = slim(path("worth"), *input, "plain+lz4", CopyPages::where_worth);
    EXPECT_GT(worth.rows, kRows / 2) << "but for what fills the cluster of those that were encoded";
    EXPECT_LE(worth.rows, kRows);
    expect_events(path("worth"), wanted);
    auto const few = slim(path("few"), *input, "zstd-4", CopyPages::always);
    EXPECT_EQ(few.pages, 0u) << "another level is another setting";
    expect_events(path("few"), wanted);
    EXPECT_EQ(codec_of_input(*stored_clusters(*Reader::open(path("a")), 0), kAll), "zstd-3");
    EXPECT_EQ(codec_of_input(*stored_clusters(*Reader::open(path("b")), 0), kAll), "plain+lz4");
    EXPECT_EQ(cluster_ends(*stored_clusters(*input, 0)).back(), 2 * kRows);
}

TEST_F(KeptColumnsTest, MasksChooseRowsAndWholeClustersAreCopiedAllTheSame) {
    write(path("a"), 0, "zstd-1");
    auto const input = Reader::open(path("a"));
    auto const ends = cluster_ends(*stored_clusters(*input, 0));
    ASSERT_GE(ends.size(), 3u);
    std::vector<std::byte> mask(kRows);
    Events wanted(0, 0);
    for (std::uint64_t row = 0; row < kRows; ++row) {
        bool const is_in_second = row >= ends[0] && row < ends[1];
        mask[row] = std::byte(is_in_second || row % 7 == 3 ? 1 : 0);
        if (mask[row] != std::byte{0}) wanted.add(row);
    }
    auto const copied = slim(path("out"), *input, "zstd-1", CopyPages::always, mask);
    EXPECT_EQ(copied.rows, ends[1] - ends[0]);
    expect_events(path("out"), wanted);
    // Behind few rows of a small cluster it is decoded instead: that cluster would stay small.
    EXPECT_EQ(slim(path("filled"), *input, "zstd-1", CopyPages::where_worth, mask).rows, 0u);
    expect_events(path("filled"), wanted);
    slim(path("none"), *input, "zstd-1", CopyPages::where_worth, std::vector<std::byte>(kRows));
    expect_events(path("none"), Events(0, 0));
}

TEST_F(KeptColumnsTest, DamagedPagesAreNamed) {
    write(path("a"), 0, "zstd-1");
    auto const column = [&](std::size_t index) {
        auto const reader = Reader::open(path("a"));
        auto const& pages = reader->tables()[0].columns[index].pages;
        return std::pair(pages[pages.size() / 2], reader->rows(0));
    };
    for (std::size_t const index : {0, 2, 3}) {
        auto const [page, rows] = column(index);
        auto const file = storage::open_file_storage(path("a"), storage::OpenMode::read_write, storage::Engine::posix);
        std::byte byte{};
        file->read(page.offset + page.stored_bytes / 2, {&byte, 1});
        auto const damaged = byte ^ std::byte{0x20};
        file->write(page.offset + page.stored_bytes / 2, std::span(&damaged, 1));
        auto const input = Reader::open(path("a"));
        for (auto const copy : {CopyPages::never, CopyPages::always}) {
            auto const message = message_of([&] { slim(path("out"), *input, "zstd-1", copy); });
            EXPECT_NE(message.find(path("a")), std::string::npos) << message;
            EXPECT_NE(message.find("column '" + input->head().columns[0][index].path + "'"), std::string::npos)
                << message;
            EXPECT_NE(message.find("its checksum does not fit"), std::string::npos) << message;
            if (copy == CopyPages::always && index == 0) {
                auto const named = " rows " + std::to_string(page.first) + " to ";
                EXPECT_NE(message.find(named + std::to_string(page.first + page.count)), std::string::npos) << message;
            }
            std::filesystem::remove(path("out"));
            std::filesystem::remove(path("out") + ".journal");
        }
        file->write(page.offset + page.stored_bytes / 2, std::span(&byte, 1));
    }
    expect_events(path("a"), Events(0, kRows));
}

TEST_F(KeptColumnsTest, WhatIsOfAnotherTypeThereIsNotKept) {
    write(path("a"), 0, "zstd-1");
    auto schema = events();
    schema.tables[0].fields[0].scalar = model::Scalar::int64;
    auto const writer = Writer::create(path("out"), schema, {});
    auto const input = Reader::open(path("a"));
    EXPECT_EQ(KeptColumns::find(*input, 0, stored_clusters(*input, 0), writer->head(), "t", kAll, CopyPages::always),
              nullptr);
    EXPECT_NE(KeptColumns::find(*input, 0, nullptr, writer->head(), "t", {"hits"}, CopyPages::always), nullptr);
    writer->abandon();
}

} // namespace
} // namespace thalweg::derive
