#include "thalweg/format/hdf5/files/format.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/ours/check_index.h"
#include "thalweg/format/hdf5/ours/header.h"

namespace thalweg::format::hdf5::files {
namespace {

using model::Scalar;

model::LayoutOptions small_pages(std::string const& codec = "bitshuffle+lz4") {
    return {2048, 256, 4 << 20, 2048, codec, codec};
}

model::Schema flat_schema() {
    return {{{"ch0",
              {scalar_field("timestamp", Scalar::uint64),
               record_field("waveform",
                            {scalar_field("t0", Scalar::float32), scalar_field("values", Scalar::uint16, {64})}),
               scalar_field("flag", Scalar::boolean), scalar_field("z", Scalar::complex64),
               scalar_field("matrix", Scalar::int8, {2, 3})},
              "one channel"},
             {"far/away", {scalar_field("x", Scalar::float64)}, ""}}};
}

model::Schema list_schema() {
    return {{{"event",
              {scalar_field("id", Scalar::uint32),
               list_field("hits", record_field("", {scalar_field("energy", Scalar::float32),
                                                    scalar_field("cell", Scalar::uint8, {3})})),
               string_field("name"), list_field("nested", list_field("", scalar_field("", Scalar::int16))),
               list_field("words", string_field(""))},
              ""}}};
}

void expect_right(TestRun const& run) {
    auto const map = hdf5_format().load(*run.file);
    ASSERT_EQ(map.head.schema, run.head.schema);
    for (std::size_t t = 0; t < run.head.columns.size(); ++t) {
        for (std::size_t c = 0; c < run.head.columns[t].size(); ++c) {
            auto const& column = run.head.columns[t][c];
            EXPECT_EQ(TestRun::read(map, *run.file, t, c), run.expected(t, c)) << column.path;
            if (column.parent) continue;
            EXPECT_EQ(map.tables[t].rows * column.item_bytes(), run.expected(t, c).size());
        }
    }
    ours::check_index(*run.file);
}

TEST(Hdf5Format, HoldsEveryRowOfEveryPart) {
    std::mt19937 random(3);
    for (unsigned round = 0; round < 20; ++round) {
        TestRun run(flat_schema(), small_pages(round % 2 == 0 ? "bitshuffle+lz4" : "shuffle+deflate-1"), round);
        for (auto n = random() % 4; n > 0; --n) run.add_part(0, random() % 700);
        run.add_part(1, random() % 100);
        auto const size_bytes = run.complete();
        EXPECT_EQ(size_bytes, run.file->size());
        expect_right(run);
    }
}

TEST(Hdf5Format, HoldsListsOfEveryKind) {
    std::mt19937 random(4);
    for (unsigned round = 0; round < 20; ++round) {
        TestRun run(list_schema(), small_pages(), round);
        for (auto n = random() % 4; n > 0; --n) run.add_part(0, random() % 700);
        run.complete();
        expect_right(run);
    }
}

TEST(Hdf5Format, LeavesOutDroppedBlocks) {
    for (unsigned round = 0; round < 10; ++round) {
        TestRun flat(flat_schema(), small_pages(), round);
        auto const block_rows = flat.head.layouts[0].block_rows;
        flat.add_part(0, 4 * block_rows + 17);
        flat.add_part(0, 2 * block_rows + 3);
        flat.drop_block(0, round % 2, 1, round % flat.head.columns[0].size());
        flat.add_part(1, 5);
        flat.complete();
        expect_right(flat);

        TestRun lists(list_schema(), small_pages(), round);
        auto const list_block_rows = lists.head.layouts[0].block_rows;
        for (auto const blocks : {4, 2}) lists.add_part(0, static_cast<std::uint64_t>(blocks) * list_block_rows + 9);
        lists.drop_block(0, round % 2, 1, 0);
        lists.complete();
        expect_right(lists);
    }
}

TEST(Hdf5Format, AMissingPageNamesTableColumnAndRows) {
    TestRun run(flat_schema(), small_pages());
    run.add_part(0, 700);
    run.facts.tables[0][0].columns[0].erase(run.facts.tables[0][0].columns[0].begin() + 3);
    try {
        run.complete();
        FAIL();
    } catch (base::DataError const& error) {
        EXPECT_NE(std::string(error.what()).find("run.h5: table 'ch0', column 'timestamp'"), std::string::npos)
            << error.what();
    }
}

TEST(Hdf5Format, WhatHdf5CannotHoldIsRefusedAtTheBeginning) {
    std::vector<std::uint64_t> const too_many_dimensions(40, 1);
    for (auto const& field :
         {scalar_field("x", Scalar::uint8, too_many_dimensions), scalar_field(".parts", Scalar::uint8)}) {
        EXPECT_THROW(TestRun({{{"t", {field}, ""}}}), base::UsageError);
    }
    TestRun const odd_names({{{"a b.c/\u00e4", {scalar_field("..x y", Scalar::uint8)}, ""}}});
}

TEST(Hdf5Format, MetadataOfAnySizeIsKept) {
    TestRun run(flat_schema());
    run.facts.metadata = {{"run_number", "17"}, {"configuration", std::string(300'000, 'x')}, {"a/b", "\u00b5s"}};
    for (int i = 0; i < 100; ++i) run.facts.metadata["key " + std::to_string(i)] = std::to_string(i);
    run.complete();
    auto const map = hdf5_format().load(*run.file);
    EXPECT_EQ(map.metadata, run.facts.metadata);
    EXPECT_EQ(map.head.id, run.head.id);
}

Bytes some_units(std::size_t size_bytes) {
    Bytes units(size_bytes);
    std::mt19937_64 random(9);
    for (std::size_t i = 0; i < size_bytes; ++i) units[i] = static_cast<std::byte>(i % 3 == 0 ? random() : i / 1000);
    return units;
}

TEST(Hdf5Format, TheTableOfWorkUnitsIsHandedBack) {
    for (auto const size_bytes : {std::size_t{1}, std::size_t{65'536}, std::size_t{3'000'001}}) {
        TestRun run(flat_schema(), small_pages());
        run.add_part(0, 100);
        run.facts.units = some_units(size_bytes);
        run.complete();
        auto const map = hdf5_format().load(*run.file);
        EXPECT_EQ(map.units, run.facts.units);
        EXPECT_EQ(map.units_fault, "");
        EXPECT_LT(run.file->size(), run.facts.end_offset + size_bytes * 2 / 3 + 100'000);
        expect_right(run);
    }
    TestRun none(flat_schema(), small_pages());
    none.complete();
    EXPECT_EQ(hdf5_format().load(*none.file).units, Bytes{});
}

TEST(Hdf5Format, ADamagedTableOfWorkUnitsLeavesTheRowsReadable) {
    TestRun run(flat_schema(), small_pages());
    run.add_part(0, 100);
    std::mt19937 random(10);
    for (int i = 0; i < 3000; ++i) run.facts.units.push_back(static_cast<std::byte>(random()));
    run.complete();
    auto bytes = contents(*run.file);
    auto const& units = run.facts.units;
    auto const found = std::search(bytes.begin(), bytes.end(), units.begin(), units.begin() + 16);
    ASSERT_NE(found, bytes.end()); // noise does not shrink: it is stored as it is
    *found ^= std::byte{1};
    run.file->write(0, bytes);
    auto const map = hdf5_format().load(*run.file);
    EXPECT_EQ(map.units, Bytes{});
    EXPECT_NE(map.units_fault.find("/thalweg/units"), std::string::npos) << map.units_fault;
    EXPECT_EQ(TestRun::read(map, *run.file, 0, 0), run.expected(0, 0));
    EXPECT_THROW(ours::check_index(*run.file), base::DataError);
}

std::uint64_t bound_of(TestRun const& run) {
    std::uint64_t pages = 0, lengths_pages = 0;
    for (std::size_t t = 0; t < run.head.columns.size(); ++t) {
        for (auto const& part : run.facts.tables[t]) {
            for (std::size_t c = 0; c < part.columns.size(); ++c) {
                pages += part.columns[c].size();
                auto const role = run.head.columns[t][c].role;
                if (role == model::Column::Role::lengths) lengths_pages += part.columns[c].size();
            }
        }
    }
    return hdf5_format().metadata_bound(run.head).bytes(pages, lengths_pages);
}

TEST(Hdf5Format, TheBoundHolds) {
    for (auto const& schema : {flat_schema(), list_schema()}) {
        TestRun run(schema);
        for (std::size_t t = 0; t < schema.tables.size(); ++t) {
            for (auto const rows : {10'000u, 3u, 777u}) run.add_part(t, rows);
        }
        auto const growth = run.complete() - run.facts.end_offset;
        auto const bound = bound_of(run);
        EXPECT_LE(growth, bound);
        EXPECT_LE(bound, 64u << 20); // and is of use
    }
}

// Only lengths are written anew: values, however many, cost their entries in the indexes.
TEST(Hdf5Format, TheBoundOfAListTableIsFarBelowItsPayload) {
    TestRun run({{{"t", {list_field("l", scalar_field("", Scalar::uint8, {1000}))}, ""}}},
                {2048, 2048, 4 << 20, 2048, "none", "none"});
    for (int i = 0; i < 3; ++i) run.add_part(0, 20'000);
    auto const payload_bytes = run.facts.end_offset;
    auto const growth = run.complete() - payload_bytes;
    auto const bound = bound_of(run);
    EXPECT_LE(growth, bound);
    EXPECT_LT(bound, payload_bytes / 4);
}

TEST(Hdf5Format, AnotherRunsFileIsNotCompleted) {
    TestRun run(flat_schema());
    auto other = run.head;
    other.id = "another";
    EXPECT_THROW(hdf5_format().complete(*run.file, *run.journal, other, run.facts), base::DataError);
}

TEST(Hdf5Format, CheckIndexSeesEveryChangedByteOfMetadata) {
    TestRun run(flat_schema(), small_pages());
    run.add_part(0, 100);
    auto const size_bytes = run.complete();
    std::byte byte{};
    run.file->read(size_bytes - 100, {&byte, 1});
    byte ^= std::byte{1};
    run.file->write(size_bytes - 100, {&byte, 1});
    EXPECT_THROW(ours::check_index(*run.file), base::DataError);
}

TEST(Hdf5Format, CanBeCompletedAgain) {
    TestRun run(flat_schema(), small_pages());
    run.add_part(0, 333);
    run.complete();
    auto const once = contents(*run.file);
    std::this_thread::sleep_for(std::chrono::milliseconds(1001)); // libhdf5 would keep the second in every object
    run.complete();
    EXPECT_EQ(contents(*run.file), once);
    expect_right(run);
}

TEST(Hdf5Format, AnUnfinishedFileDoesNotOpen) {
    TestRun run(flat_schema());
    run.add_part(0, 100);
    try {
        hdf5_format().load(*run.file);
        FAIL();
    } catch (base::DataError const& error) {
        EXPECT_NE(std::string(error.what()).find("file signature not found"), std::string::npos) << error.what();
    }
    EXPECT_EQ(ours::run_id_of(*run.file), run.head.id);
}

} // namespace
} // namespace thalweg::format::hdf5::files
