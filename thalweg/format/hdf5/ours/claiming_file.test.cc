// The rules of linking pages into an HDF5 file, each learnt from an experiment. Those that need a whole run are in
// files/rules.test.cc.
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/ours/checked_dataset.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/linked_datasets.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5::ours {
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

TEST(Hdf5RulesDeathTest, BAPageLinkedAgainInAnotherChunkEndsTheProcess) {
    OneDataset one("none");
    one.link(0, {5000, 100}, 100);
    EXPECT_DEATH(one.link(1, {5000, 100}, 100), "a page is linked once");
}

TEST(Hdf5Rules, BATokenWithoutAnArmedPageIsRefused) {
    OneDataset one("none");
    hsize_t const at = 0;
    EXPECT_LT(H5Dwrite_chunk(one.dataset.get(), H5P_DEFAULT, 0, &at, 100, ClaimingFile::token()), 0);
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

TEST(Hdf5Rules, AWrongSizeOfADatasetIsAnError) {
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

} // namespace
} // namespace thalweg::format::hdf5::ours
