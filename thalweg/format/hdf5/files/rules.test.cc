// The rules of completing an HDF5 file, each learnt from an experiment. Those of linking one page are in
// ours/claiming_file.test.cc.
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/ours/check_index.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/load_run.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5::files {
namespace {

using model::Scalar;

TEST(Hdf5Rules, BAPageLinkedTwiceIsRefused) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}}, {2048, 256, 4 << 20, 2048, "none", "none"});
    run.add_part(0, 320);
    auto& pages = run.facts.tables[0][0].columns[0];
    pages[3].offset = pages[2].offset + 1;
    EXPECT_THROW(run.complete(), base::DataError);
    EXPECT_FALSE(ours::has_superblock(*run.file));
}

// (e) Narrow columns keep their own, larger chunks beside wide ones, whatever the number of rows.
TEST(Hdf5Rules, ENarrowColumnsHaveTheirOwnChunks) {
    TestRun run({{{"t", {scalar_field("time", Scalar::uint64), scalar_field("wave", Scalar::uint16, {1000})}, ""}}});
    run.add_part(0, 5000);
    run.complete();
    LibraryLock const lock;
    ReadingFile reading(*run.file);
    auto const handle = open_file(reading, "run.h5");
    EXPECT_GE(StoredDataset(reading, handle, "/t/time").facts().page_items,
              4 * StoredDataset(reading, handle, "/t/wave").facts().page_items);
}

// (f) One cumulative_length for all parts; values stay where they are, under one virtual dataset.
TEST(Hdf5Rules, FValuesOfListsStayInParts) {
    TestRun run({{{"t", {list_field("l", scalar_field("", Scalar::float64))}, ""}}},
                {2048, 256, 4 << 20, 2048, "none", "none"});
    run.add_part(0, 640);
    {
        run.complete();
        LibraryLock const lock;
        ReadingFile reading(*run.file);
        auto const handle = open_file(reading, "run.h5");
        EXPECT_GT(StoredDataset(reading, handle, "/t/l/flattened_data").page_count(), 20u); // no virtual one
    }
    run.add_part(0, 333);
    run.complete();
    LibraryLock const lock;
    ReadingFile reading(*run.file);
    auto const handle = open_file(reading, "run.h5");
    DatasetHandle const values(H5Dopen2(handle.get(), "/t/l/flattened_data", H5P_DEFAULT), "open");
    PropertyHandle const creation(H5Dget_create_plist(values.get()), "properties");
    ASSERT_EQ(H5Pget_layout(creation.get()), H5D_VIRTUAL);
    std::size_t mappings = 0;
    check(H5Pget_virtual_count(creation.get(), &mappings), "count");
    EXPECT_EQ(mappings, 2u);
    char source[100]{};
    H5Pget_virtual_dsetname(creation.get(), 0, source, sizeof source);
    EXPECT_STREQ(source, "/t/l/.parts/flattened_data/0");
    EXPECT_EQ(StoredDataset(reading, handle, "/t/l/cumulative_length").facts().items, 973u);
}

// What a record or a dataset says of its own size must not ask for memory before it is compared with what is there.
TEST(Hdf5Rules, WrongSizesAreErrors) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    for (auto const pages : {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        ours::RunRecord record{run.head, {}, {{"/t/x", 10, pages}}, {}};
        EXPECT_THROW(ours::datasets_of(record, std::vector<Chunk>(2)), base::DataError);
    }
}

TEST(Hdf5Rules, AColumnOfRowsThatLiesInPartsIsAnError) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    model::RunMap map{run.head, {}, {}};
    Dataset part{"/t/.parts/x/0", Scalar::uint64, {}, 8, "none", 10, 10, {{4096, 80, 0, false}}};
    EXPECT_THROW(ours::fill_tables(map, {{part.path, part}}, {{"/t/x", {{part.path, 10, 0, 10, 0}}}}), base::DataError);
}

TEST(Hdf5Rules, ASealWhoseEndWrapsIsAnError) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    run.complete();
    ours::check_seal(*run.file);
    for (auto const offset : {4096ull, 1ull << 40, ~0ull - 100}) {
        std::uint64_t seal[4] = {offset, 0 - offset + 8, 0, 0}; // ends at 8
        seal[3] = base::xxh3(std::as_bytes(std::span(seal).first(3)));
        run.file->write(1024, std::as_bytes(std::span(seal)));
        EXPECT_THROW(ours::check_seal(*run.file), base::DataError) << offset;
    }
}

// (g) is that this compiles against HDF5 1.10 and 1.14.

TEST(Hdf5Rules, FiveThousandDatasets) {
    model::Schema schema;
    for (int t = 0; t < 50; ++t) {
        model::Table table{"group" + std::to_string(t % 5) + "/table" + std::to_string(t), {}, ""};
        for (int c = 0; c < 100; ++c)
            table.fields.push_back(scalar_field("column" + std::to_string(c), Scalar::uint32));
        schema.tables.push_back(std::move(table));
    }
    TestRun run(std::move(schema), {2048, 256, 4 << 20, 2048, "none", "none"});
    std::uint64_t pages = 0;
    for (std::size_t t = 0; t < 50; ++t) {
        run.add_part(t, 100 + t);
        pages += 100 * ((100 + t + 63) / 64); // of 256 bytes
    }
    auto const begin = base::thread_cpu_ns();
    run.complete();
    auto const completed = base::thread_cpu_ns();
    auto const map = hdf5_format().load(*run.file);
    std::printf("5000 datasets: complete %llu, load %llu ns of CPU each\n", (completed - begin) / 5000 * 1ull,
                (base::thread_cpu_ns() - completed) / 5000 * 1ull);
    for (std::size_t c : {0u, 57u, 99u}) EXPECT_EQ(TestRun::read(map, *run.file, 49, c), run.expected(49, c));
    EXPECT_EQ(ours::check_index(*run.file), pages);
}

TEST(Hdf5Rules, AMillionPages) {
    constexpr std::uint64_t kPages = 1'000'000;
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    auto const rows = run.head.layouts[0].columns[0].page_items;
    model::Part part{0, {{}}, {{0, kPages * rows}}};
    for (std::uint64_t i = 0; i < kPages; ++i) { // small ones, of which only the places are looked at
        part.columns[0].push_back({i * rows, rows, 0, 4096 + i * 20, 14 + i % 7, rows * 8, i + 1, true});
    }
    run.facts.tables[0].push_back(std::move(part));
    run.facts.end_offset = 4096 + kPages * 20;
    auto const begin = base::thread_cpu_ns();
    auto const size_bytes = run.complete();
    auto const completed = base::thread_cpu_ns();
    auto const map = hdf5_format().load(*run.file);
    auto const loaded = base::thread_cpu_ns();
    EXPECT_EQ(map.tables[0].columns[0].pages, run.facts.tables[0][0].columns[0]);
    EXPECT_EQ(ours::check_index(*run.file), kPages);
    std::printf("10^6 pages: complete %llu, load %llu, check_index %llu ns of CPU and %llu bytes a page\n",
                (completed - begin) / kPages * 1ull, (loaded - completed) / kPages * 1ull,
                (base::thread_cpu_ns() - loaded) / kPages * 1ull, (size_bytes - run.facts.end_offset) / kPages * 1ull);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(loaded - begin, 6'000'000'000u);
#endif
    EXPECT_LE(size_bytes - run.facts.end_offset, hdf5_format().metadata_bound(run.head).bytes(kPages, 0));
}

} // namespace
} // namespace thalweg::format::hdf5::files
