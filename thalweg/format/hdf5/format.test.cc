#include "thalweg/format/hdf5/format.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/test_run.h"

namespace thalweg::format::hdf5 {
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
    check_index(*run.file);
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

TEST(Hdf5Format, CanBeCompletedAgain) {
    TestRun run(flat_schema(), small_pages());
    run.add_part(0, 333);
    run.complete();
    auto const once = contents(*run.file);
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
    EXPECT_EQ(run_id_of(*run.file), run.head.id);
}

} // namespace
} // namespace thalweg::format::hdf5
