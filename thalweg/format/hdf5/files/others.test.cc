// Files of other programs, and ours after other programs were at them.
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_foreign.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/ours/check_index.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5::files {
namespace {

using model::Scalar;

template <typename Value> std::vector<Value> small_numbers(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Value>(i * 7 % 100);
    return values;
}

TEST(Hdf5Foreign, DatasetsOfOneLengthAreATable) {
    ForeignFile made;
    auto const x = small_numbers<double>(1000);
    auto const wave = small_numbers<std::uint16_t>(4000);
    made.dataset("/detector/x", H5T_IEEE_F64LE, x, {1000});
    made.dataset("/detector/wave", H5T_STD_U16LE, wave, {1000, 4}, {64, 4}, "bitshuffle+lz4");
    made.attribute("/detector/x", "units", "mm");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.tables.size(), 1u);
    EXPECT_EQ(map.head.schema.tables[0].name, "detector");
    EXPECT_EQ(map.tables[0].rows, 1000u);
    EXPECT_EQ(map.head.columns[0][0].path, "wave");
    EXPECT_EQ(map.head.layouts[0].columns[0].codec, "bitshuffle+lz4");
    EXPECT_EQ(map.head.schema.tables[0].fields[1].unit, "mm");
    EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(wave));
    EXPECT_EQ(TestRun::read(map, *file, 0, 1), bytes_of(x));
    EXPECT_THROW(ours::check_index(*file), base::UsageError);
}

// One damaged byte in an extent, and the list of its pages would take all the memory there is.
TEST(Hdf5Foreign, AnExtentThatNoFileOfThatSizeHasIsRefused) {
    ForeignFile made;
    made.dataset("/detector/x", H5T_IEEE_F64LE, small_numbers<double>(1000), {1000});
    made.unwritten("/detector/sparse", 1000);
    made.unwritten("/detector/huge", hsize_t{1} << 50);
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.head.columns[0].size(), 2u);
    ASSERT_EQ(map.left_out.size(), 1u);
    EXPECT_EQ(map.left_out[0].path, "/detector/huge");
    EXPECT_TRUE(
        map.left_out[0].why.starts_with("it says that it has 1125899906842624 items of 4 bytes, and the file has "))
        << map.left_out[0].str();
}

// The process that reads them says them in JSON, which is UTF-8.
TEST(Hdf5Foreign, ValuesUnderNamesThatAreNoUtf8AreRead) {
    ForeignFile made;
    auto const x = small_numbers<double>(1000);
    made.dataset("/detec\xfftor/x\xfe", H5T_IEEE_F64LE, x, {1000});
    made.attribute("/detec\xfftor/x\xfe", "units", "m\xfdm");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.tables.size(), 1u);
    EXPECT_EQ(map.head.schema.tables[0].name, "detec\\xfftor");
    EXPECT_EQ(map.head.schema.tables[0].fields[0].name, "x\\xfe");
    EXPECT_EQ(map.head.schema.tables[0].fields[0].unit, "m\\xfdm");
    EXPECT_EQ(map.notes.size(), 3u);
    EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(x));
}

TEST(Hdf5Foreign, ListsOfLh5AreLists) {
    ForeignFile made;
    auto const values = small_numbers<float>(60);
    std::vector<std::uint32_t> const sums{10, 10, 60};
    made.dataset("/ch0/raw/trace/cumulative_length", H5T_STD_U32LE, sums, {3});
    made.dataset("/ch0/raw/trace/flattened_data", H5T_IEEE_F32LE, values, {60});
    made.dataset("/ch0/raw/waveform/t0", H5T_IEEE_F32LE, small_numbers<float>(3), {3});
    made.attribute("/ch0/raw", "datatype", "table{trace,waveform}");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.tables.size(), 1u);
    EXPECT_EQ(map.head.schema.tables[0].name, "ch0/raw");
    ASSERT_EQ(map.head.columns[0].size(), 3u);
    EXPECT_EQ(map.head.columns[0][0].scalar, Scalar::uint32); // as it is in the file
    EXPECT_TRUE(map.tables[0].columns[0].pages[0].sums);
    EXPECT_EQ(TestRun::read(map, *file, 0, 0), bytes_of(sums));
    EXPECT_EQ(TestRun::read(map, *file, 0, 1), bytes_of(values));
    EXPECT_EQ(map.head.columns[0][2].path, "waveform/t0");
}

TEST(Hdf5Foreign, WhatIsNotReadIsNamed) {
    ForeignFile made;
    for (auto const* path : {"/g/a", "/g/b"}) made.dataset(path, H5T_STD_I32LE, small_numbers<std::int32_t>(10), {10});
    TypeHandle const text(H5Tcopy(H5T_C_S1), "text");
    H5Tset_size(text.get(), 8);
    made.create("/g/text", text.get(), {10}, [](hid_t) {});
    made.dataset("/g/longer", H5T_STD_I32LE, small_numbers<std::int32_t>(11), {11});
    auto const map = hdf5_format().load(*made.storage());
    EXPECT_EQ(map.head.columns[0].size(), 2u);
    std::vector<std::string> left_out;
    for (auto const& each : map.left_out) left_out.push_back(each.path);
    EXPECT_EQ(left_out, (std::vector<std::string>{"/g/text"}));
    EXPECT_EQ(map.left_out[0].str(), "/g/text is left out (its values are not of a type that Thalweg has)");
    EXPECT_TRUE(map.metadata.empty());
    ASSERT_EQ(map.tables.size(), 2u);
    EXPECT_EQ(map.head.schema.tables[1].name, "g_longer");
    EXPECT_EQ(map.tables[1].rows, 11u);
}

TEST(Hdf5Foreign, AFileInWhichEverythingIsLeftOutHasNoTables) {
    ForeignFile made;
    made.dataset("/x", H5T_STD_B8LE, small_numbers<std::uint8_t>(10), {10});
    auto const map = hdf5_format().load(*made.storage());
    EXPECT_TRUE(map.tables.empty());
    ASSERT_EQ(map.left_out.size(), 1u);
    EXPECT_EQ(map.left_out[0].str(), "/x is left out (its values are not of a type that Thalweg has)");
}

TEST(Hdf5Foreign, AFileInWhichThereIsNothingIsAnError) {
    ForeignFile made;
    EXPECT_THROW(hdf5_format().load(*made.storage()), base::DataError);
}

} // namespace
} // namespace thalweg::format::hdf5::files
