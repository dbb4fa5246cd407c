// The rules of linking pages into an HDF5 file, each learnt from an experiment.
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/link.h"
#include "thalweg/format/hdf5/load.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/hdf5/test_run.h"
#include "thalweg/storage/faulty.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Scalar;

constexpr std::uint64_t kPagesEnd = 1 << 20; // metadata begins there

Dataset bytes_dataset(std::string path, std::uint64_t page_bytes, std::string codec = "none") {
    return {std::move(path), Scalar::uint8, {}, 1, std::move(codec), page_bytes, 0, {}};
}

// What `made` holds, as a file: the superblock, and the metadata where it belongs.
std::unique_ptr<storage::Storage> file_of(ClaimingFile const& made) {
    auto file = storage::make_memory_storage("linked.h5");
    write_superblock(*file, made.superblock());
    file->write(made.begin(), made.metadata());
    file->resize(made.allocated_end());
    return file;
}

// Links pages of the given stored sizes, one after the other, and expects HDF5's index to name them where they lie.
void expect_links(std::uint64_t page_bytes, std::vector<std::uint64_t> const& stored_bytes, std::string const& codec) {
    LibraryLock const lock;
    ClaimingFile space(kPagesEnd);
    auto dataset = bytes_dataset("/data", page_bytes, codec);
    std::uint64_t offset = 4096;
    for (auto const size : stored_bytes) {
        dataset.pages.push_back({offset, size, 0, size < page_bytes});
        offset += size + 3;
    }
    dataset.items = page_bytes * stored_bytes.size();
    auto handle = create_file(space, "linked.h5");
    link_dataset(dataset, handle, space);
    handle.close("");

    auto const file = file_of(space);
    ReadingFile reading(*file);
    auto const read_handle = open_file(reading, "linked.h5");
    StoredDataset stored(reading, read_handle, "/data");
    ASSERT_EQ(stored.page_count(), dataset.pages.size());
    for (std::size_t i = 0; i < dataset.pages.size(); ++i) {
        auto const page = stored.page(i);
        EXPECT_EQ(page.offset, dataset.pages[i].offset) << page_bytes << " " << i;
        EXPECT_EQ(page.stored_bytes, dataset.pages[i].stored_bytes);
        EXPECT_EQ(page.encoded, dataset.pages[i].encoded);
    }
}

// Rule (a), and (b): blocks of the chunk index are of the sizes of small chunks, and allocated in the same call.
TEST(Hdf5Rules, BChunksOfTheSizesOfIndexBlocksAreLinked) {
    for (std::uint64_t size = 22; size <= 600; ++size) expect_links(size, std::vector<std::uint64_t>(9, size), "none");
}

TEST(Hdf5Rules, BEncodedChunksOfTheSizesOfIndexBlocksAreLinked) {
    for (std::uint64_t size = 22; size <= 600; size += 17) {
        std::vector<std::uint64_t> sizes;
        for (std::uint64_t i = 0; i < 100; ++i) sizes.push_back(22 + (size + i * 31) % 579);
        expect_links(601, sizes, "shuffle+deflate-1");
        expect_links(601, {size, 601, size}, "bitshuffle+lz4");
    }
}

struct OneDataset {
    LibraryLock lock;
    ClaimingFile space{kPagesEnd};
    FileHandle handle = create_file(space, "linked.h5");
    DatasetHandle dataset;

    explicit OneDataset(std::string const& codec) {
        auto empty = bytes_dataset("/data", 100, codec);
        empty.items = 1000;
        link_dataset(empty, handle, space);
        dataset = {H5Dopen2(handle.get(), "/data", H5P_DEFAULT), "open"};
    }

    void link(std::uint64_t chunk, StoredRange const& page, std::uint64_t size_bytes) {
        hsize_t const at = chunk * 100;
        space.arm(page);
        check(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &at, size_bytes, ClaimingFile::token()), "link");
        space.disarm();
    }
};

TEST(Hdf5Rules, BARewrittenPageIsRefused) {
    OneDataset same("none");
    same.link(3, {5000, 100}, 100);
    EXPECT_THROW(same.link(3, {6000, 100}, 100), base::DataError);
    OneDataset smaller("shuffle+deflate-1");
    smaller.link(3, {5000, 80}, 80);
    try {
        smaller.link(3, {6000, 60}, 60);
        smaller.handle.close("close");
        FAIL() << "a page was replaced";
    } catch (base::DataError const&) {
    }
}

TEST(Hdf5Rules, BAPageOfAnotherSizeIsRefused) {
    OneDataset one("none");
    EXPECT_THROW(one.link(0, {5000, 99}, 100), base::DataError);
}

TEST(Hdf5Rules, BAPageOutsideThePagesIsRefused) {
    OneDataset one("none");
    EXPECT_THROW(one.link(0, {4000, 100}, 100), base::DataError);
    EXPECT_THROW(one.link(0, {kPagesEnd - 50, 100}, 100), base::DataError);
}

TEST(Hdf5Rules, BATokenWithoutAnArmedPageIsRefused) {
    OneDataset one("none");
    hsize_t const at = 0;
    EXPECT_LT(H5Dwrite_chunk(one.dataset.get(), H5P_DEFAULT, 0, &at, 100, ClaimingFile::token()), 0);
}

TEST(Hdf5Rules, BAPageLinkedTwiceIsRefused) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}}, {2048, 256, 4 << 20, 2048, "none", "none"});
    run.add_part(0, 320);
    auto& pages = run.facts.tables[0][0].columns[0];
    pages[3].offset = pages[2].offset + 1;
    EXPECT_THROW(run.complete(), base::DataError);
    EXPECT_FALSE(has_superblock(*run.file));
}

TEST(Hdf5Rules, CTheEndOfTheAddressesIsZeroUntilThereIsASuperblock) {
    ClaimingFile space(kPagesEnd);
    EXPECT_EQ(space.allocated_end(), 0u);
    EXPECT_THROW(space.allocate(H5FD_MEM_OHDR, 100), base::DataError);
    EXPECT_EQ(space.allocate(H5FD_MEM_SUPER, 48), 0u);
    EXPECT_EQ(space.allocated_end(), kPagesEnd);
    auto const end = space.allocate(H5FD_MEM_OHDR, 100) + 100;
    space.set_allocated_end(5000); // it never falls
    EXPECT_EQ(space.allocated_end(), end);
    space.set_allocated_end(end + 50); // but libhdf5 may prolong its last block
    EXPECT_GE(space.allocate(H5FD_MEM_OHDR, 10), end + 50);
    std::byte byte{};
    EXPECT_THROW(space.write(5000, {&byte, 1}), base::DataError); // payload is not metadata's to write
}

TEST(Hdf5Rules, DFiltersAreThereWithTheirNamesAndParameters) {
    LibraryLock const lock;
    for (H5Z_filter_t const id : {1, 2, 32004, 32008, 32015}) EXPECT_GT(H5Zfilter_avail(id), 0) << id;
    PropertyHandle const creation(H5Pcreate(H5P_DATASET_CREATE), "");
    set_filters(creation.get(), "bitshuffle+lz4", 2);
    unsigned values[8]{};
    std::size_t count = 8;
    char name[100]{};
    EXPECT_EQ(H5Pget_filter2(creation.get(), 0, nullptr, &count, values, sizeof name, name, nullptr), 32008);
    EXPECT_EQ(std::vector<unsigned>(values, values + count), (std::vector<unsigned>{0, 4, 2, 0, 2}));
    EXPECT_TRUE(std::string(name).starts_with("bitshuffle")) << name;
    EXPECT_EQ(codec_of_filters(creation.get(), 2), "bitshuffle+lz4");
}

// What libhdf5 itself writes and reads through our filters.
TEST(Hdf5Rules, DFiltersEncodeAndDecode) {
    for (std::string const codec :
         {"lz4", "zstd-3", "bitshuffle+lz4", "bitshuffle+zstd-3", "bitshuffle", "shuffle+lz4", "shuffle+deflate-1"}) {
        LibraryLock const lock;
        ClaimingFile space(kPagesEnd);
        auto const handle = create_file(space, "x.h5");
        Dataset dataset{"/data", Scalar::uint16, {50}, 100, codec, 100, 250, {}};
        link_dataset(dataset, handle, space);
        DatasetHandle const object(H5Dopen2(handle.get(), "/data", H5P_DEFAULT), "open");
        std::vector<std::uint16_t> values(250 * 50), read(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i / 7);
        check(H5Dwrite(object.get(), H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              "write " + codec);
        check(H5Dread(object.get(), H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), "read " + codec);
        EXPECT_EQ(read, values) << codec;
        auto const shrinks = codec != "bitshuffle";
        EXPECT_EQ(H5Dget_storage_size(object.get()) < 3 * 100 * 100u, shrinks) << codec;
    }
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
        RunRecord record{run.head, {}, {{"/t/x", 10, pages}}, {}};
        EXPECT_THROW(datasets_of(record, std::vector<GridPage>(2)), base::DataError);
    }
    LibraryLock const lock;
    ClaimingFile space(kPagesEnd);
    auto handle = create_file(space, "huge.h5");
    auto huge = bytes_dataset("/data", 1 << 30);
    huge.items = 1ull << 45;
    link_dataset(huge, handle, space);
    handle.close("");
    auto const file = file_of(space);
    ReadingFile reading(*file);
    EXPECT_THROW(read_checked(reading, open_file(reading, "huge.h5"), "/data", Scalar::uint8), base::DataError);
}

TEST(Hdf5Rules, AColumnOfRowsThatLiesInPartsIsAnError) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    model::RunMap map{run.head, {}, {}};
    Dataset part{"/t/.parts/x/0", Scalar::uint64, {}, 8, "none", 10, 10, {{4096, 80, 0, false}}};
    EXPECT_THROW(fill_tables(map, {{part.path, part}}, {{"/t/x", {{part.path, 10, 0, 10, 0}}}}), base::DataError);
}

TEST(Hdf5Rules, ASealWhoseEndWrapsIsAnError) {
    TestRun run({{{"t", {scalar_field("x", Scalar::uint64)}, ""}}});
    run.complete();
    check_seal(*run.file);
    for (auto const offset : {4096ull, 1ull << 40, ~0ull - 100}) {
        std::uint64_t seal[4] = {offset, 0 - offset + 8, 0, 0}; // ends at 8
        seal[3] = base::xxh3(std::as_bytes(std::span(seal).first(3)));
        run.file->write(1024, std::as_bytes(std::span(seal)));
        EXPECT_THROW(check_seal(*run.file), base::DataError) << offset;
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
    EXPECT_EQ(check_index(*run.file), pages);
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
    EXPECT_EQ(check_index(*run.file), kPages);
    std::printf("10^6 pages: complete %llu, load %llu, check_index %llu ns of CPU and %llu bytes a page\n",
                (completed - begin) / kPages * 1ull, (loaded - completed) / kPages * 1ull,
                (base::thread_cpu_ns() - loaded) / kPages * 1ull, (size_bytes - run.facts.end_offset) / kPages * 1ull);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(loaded - begin, 6'000'000'000u);
#endif
    EXPECT_LE(size_bytes - run.facts.end_offset, hdf5_format().metadata_bound(run.head).bytes(kPages, 0));
}

} // namespace
} // namespace thalweg::format::hdf5
