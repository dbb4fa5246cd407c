// What other programs may choose for the same values: how they are cut, ordered, filtered, and whether they are there.
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_foreign.h"
#include "thalweg/format/hdf5/files/test_run.h"

namespace thalweg::format::hdf5::files {
namespace {

template <typename Value> std::vector<Value> numbers(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Value>(i * 2654435761u >> 7);
    return values;
}

// The only column of the only table.
Bytes read_only(ForeignFile& made) {
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    EXPECT_EQ(map.head.columns.size(), 1u);
    EXPECT_EQ(map.head.columns[0].size(), 1u);
    return TestRun::read(map, *file, 0, 0);
}

struct Cut {
    std::vector<hsize_t> extents;
    std::vector<hsize_t> chunk;
};

class Cuts : public ::testing::TestWithParam<Cut> {};

TEST_P(Cuts, GiveTheValues) {
    auto const& [extents, chunk] = GetParam();
    std::size_t count = 1;
    for (auto const extent : extents) count *= extent;
    auto const values = numbers<std::uint16_t>(count);
    for (auto const* codec : {"none", "shuffle+deflate", "bitshuffle+lz4"}) {
        for (auto const type : {H5T_STD_U16LE, H5T_STD_U16BE}) {
            ForeignFile made;
            made.dataset("/g/x", type, values, extents, chunk, codec);
            EXPECT_EQ(read_only(made), bytes_of(values)) << codec << (type == H5T_STD_U16BE ? ", big endian" : "");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Hdf5Layouts, Cuts,
                         ::testing::Values(Cut{{100}, {7}}, Cut{{10, 8}, {10, 8}}, Cut{{10, 8}, {3, 2}},
                                           Cut{{10, 8}, {4, 3}}, Cut{{10, 8}, {20, 5}}, Cut{{10, 8}, {3, 16}},
                                           Cut{{10, 6, 5}, {4, 6, 2}}, Cut{{10, 6, 5}, {4, 4, 5}},
                                           Cut{{10, 6, 5}, {4, 4, 3}}, Cut{{5, 3, 4, 7}, {2, 2, 4, 7}},
                                           Cut{{5, 3, 4, 7}, {2, 2, 3, 7}}, Cut{{5, 3, 4, 7}, {2, 2, 1, 3}},
                                           Cut{{100, 300}, {33, 32}}));

// As Thalweg's own readers ask: some rows of a map, whatever the bands.
TEST(Hdf5Layouts, SomeRowsOfSplitChunksAreReadWhereverTheyBegin) {
    auto const values = numbers<std::int32_t>(50 * 11);
    ForeignFile made;
    made.dataset("/g/x", H5T_STD_I32LE, values, {50, 11}, {7, 4}, "deflate");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    StoredColumn const stored{map.head.columns[0][0], map.tables[0].columns[0], map.head.layouts[0].columns[0].codec};
    EXPECT_EQ(stored.map.pages.size(), 8u * 3);
    PageDecoder decoder;
    for (std::uint64_t first = 0; first < 50; ++first) {
        for (std::uint64_t count = 1; first + count <= 50; ++count) {
            Bytes out(count * 44);
            for (auto const& piece : plan_pieces(stored, first, count, out)) {
                decode_piece(decoder, stored, piece, *file, true);
            }
            auto const all = std::as_bytes(std::span(values));
            ASSERT_TRUE(std::ranges::equal(out, all.subspan(first * 44, count * 44))) << first << " " << count;
        }
    }
    Bytes out(44);
    EXPECT_THROW(plan_pieces(stored, 50, 1, out), base::DataError);
}

TEST(Hdf5Layouts, BigEndianNumbersOfEveryKindAreRead) {
    ForeignFile made;
    auto const doubles = numbers<double>(50);
    made.dataset("/a/x", H5T_IEEE_F64BE, doubles, {50});
    made.dataset("/b/x", H5T_STD_I64BE, numbers<std::int64_t>(50), {50}, {8}, "shuffle+deflate");
    made.dataset("/c/x", H5T_STD_U8BE, numbers<std::uint8_t>(50), {50});
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.tables.size(), 3u);
    EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(doubles));
    EXPECT_EQ(TestRun::read(map, *file, 1, 0), bytes_of(numbers<std::int64_t>(50)));
    EXPECT_EQ(TestRun::read(map, *file, 2, 0), bytes_of(numbers<std::uint8_t>(50)));
}

TEST(Hdf5Layouts, WhatWasNeverWrittenIsTheFillValue) {
    for (auto const type : {H5T_STD_I32LE, H5T_STD_I32BE}) {
        for (std::vector<hsize_t> const& chunk : {std::vector<hsize_t>{}, {4, 6}, {4, 5}}) {
            ForeignFile made;
            std::int32_t const fill = -12345;
            made.create("/g/x", type, {10, 6}, [&](hid_t creation) {
                if (!chunk.empty()) H5Pset_chunk(creation, 2, chunk.data());
                H5Pset_fill_value(creation, H5T_NATIVE_INT32, &fill);
            });
            EXPECT_EQ(read_only(made), bytes_of(std::vector<std::int32_t>(60, fill)));
        }
    }
}

// By the index alone this took as long as there are chunks, for each that is not there.
TEST(Hdf5Layouts, OfManyChunksThatWereNeverWrittenTheOthersAreRead) {
    ForeignFile made;
    std::int32_t const fill = 5;
    constexpr std::size_t kRows = 40'000;
    auto const object = made.create("/g/x", H5T_STD_I32LE, {kRows}, [&](hid_t creation) {
        hsize_t const chunk = 1;
        H5Pset_chunk(creation, 1, &chunk);
        H5Pset_fill_value(creation, H5T_NATIVE_INT32, &fill);
    });
    std::vector<std::int32_t> expected(kRows, fill);
    for (hsize_t row = 0; row < kRows; row += 2) {
        expected[row] = static_cast<std::int32_t>(row);
        check(H5Dwrite_chunk(object.get(), H5P_DEFAULT, 0, &row, 4, &expected[row]), "chunk");
    }
    EXPECT_EQ(read_only(made), bytes_of(expected));
}

TEST(Hdf5Layouts, CompactValuesAreRead) {
    for (auto const type : {H5T_STD_I32LE, H5T_STD_I32BE}) {
        ForeignFile made;
        auto const object =
            made.create("/g/x", type, {10, 6}, [](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); });
        ForeignFile::write(object, numbers<std::int32_t>(60));
        EXPECT_EQ(read_only(made), bytes_of(numbers<std::int32_t>(60)));
    }
}

TEST(Hdf5Layouts, AnArrayTypeIsFurtherDimensions) {
    hsize_t const inner[] = {2, 3};
    for (auto const element : {H5T_STD_I32LE, H5T_STD_I32BE}) {
        TypeHandle const type(H5Tarray_create2(element, 2, inner), "array");
        for (std::vector<hsize_t> const& chunk : {std::vector<hsize_t>{}, {4, 5}, {4, 2}}) {
            ForeignFile made;
            auto const object = made.create("/g/x", type.get(), {10, 5}, [&](hid_t creation) {
                if (chunk.empty()) return;
                H5Pset_chunk(creation, 2, chunk.data());
                H5Pset_shuffle(creation); // of elements of 24 bytes
                H5Pset_deflate(creation, 4);
            });
            ForeignFile::write(object, numbers<std::int32_t>(300));
            auto const file = made.storage();
            auto const map = hdf5_format().load(*file);
            EXPECT_EQ(map.head.columns[0][0].shape, (std::vector<std::uint64_t>{5, 2, 3}));
            EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(numbers<std::int32_t>(300)));
        }
    }
}

TEST(Hdf5Layouts, Fletcher32IsChecked) {
    for (bool const first : {false, true}) {
        ForeignFile made;
        auto const object = made.create("/g/x", H5T_STD_I32LE, {100}, [&](hid_t creation) {
            hsize_t const chunk = 33;
            H5Pset_chunk(creation, 1, &chunk);
            if (first) H5Pset_fletcher32(creation);
            H5Pset_shuffle(creation);
            H5Pset_deflate(creation, 1);
            if (!first) H5Pset_fletcher32(creation);
        });
        ForeignFile::write(object, numbers<std::int32_t>(100));
        auto const file = made.storage();
        auto const map = hdf5_format().load(*file);
        EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(numbers<std::int32_t>(100)));
        auto const& page = map.tables[0].columns[0].pages[1];
        Bytes stored(page.stored_bytes);
        file->read(page.offset, stored);
        stored.back() ^= std::byte{1}; // of the checksum itself, where it comes last
        file->write(page.offset, stored);
        EXPECT_THROW(TestRun::read(map, *file, 0, 0), base::DataError);
    }
}

// H5Dwrite_chunk takes any mask: bit i is filter i that this chunk did not go through.
TEST(Hdf5Layouts, ChunksThatLackSomeFiltersAreRead) {
    auto const values = numbers<std::int32_t>(20);
    ForeignFile made;
    auto const object = made.create("/g/x", H5T_STD_I32LE, {20}, [](hid_t creation) {
        hsize_t const chunk = 10;
        H5Pset_chunk(creation, 1, &chunk);
        H5Pset_shuffle(creation);
        H5Pset_fletcher32(creation);
    });
    ForeignFile::write(object, values);
    auto shuffled = codec::make_codec("shuffle", 4);
    Bytes chunk(40);
    shuffled->encode(std::as_bytes(std::span(values)).first(40), chunk);
    hsize_t offset = 0;
    check(H5Dwrite_chunk(object.get(), H5P_DEFAULT, 2, &offset, chunk.size(), chunk.data()), "chunk");
    EXPECT_EQ(read_only(made), bytes_of(values));
}

TEST(Hdf5Layouts, ChunksAtTheEdgeMayBeUnfiltered) {
    ForeignFile made;
    auto const object = made.create("/g/x", H5T_STD_I32LE, {20, 10}, [](hid_t creation) {
        hsize_t const chunk[] = {8, 4};
        H5Pset_chunk(creation, 2, chunk);
        H5Pset_deflate(creation, 1);
        check(H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), "options");
    });
    ForeignFile::write(object, std::vector<std::int32_t>(200, 7));
    EXPECT_EQ(read_only(made), bytes_of(std::vector<std::int32_t>(200, 7)));
}

TEST(Hdf5Layouts, ValuesInAnotherFileAreLeftOutByItsName) {
    ForeignFile made;
    made.dataset("/g/x", H5T_STD_I32LE, numbers<std::int32_t>(10), {10});
    made.create("/g/y", H5T_STD_I32LE, {10},
                [](hid_t creation) { check(H5Pset_external(creation, "somewhere/raw.bin", 0, 40), "external"); });
    auto const map = hdf5_format().load(*made.storage());
    ASSERT_EQ(map.left_out.size(), 1u);
    EXPECT_EQ(map.left_out[0].path, "/g/y");
    EXPECT_NE(map.left_out[0].str().find("its values lie in another file, somewhere/raw.bin"), std::string::npos)
        << map.left_out[0].str();
}

} // namespace
} // namespace thalweg::format::hdf5::files
