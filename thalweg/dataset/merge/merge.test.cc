#include "thalweg/dataset/merge/merge.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/resource.h>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// Row number, a column that is constant (whose pages lie in the file once), lists, and a table in a directory.
model::Schema rows_and_sums() {
    return {{{"rows",
              {scalar("id", model::Scalar::uint64), scalar("same", model::Scalar::uint64),
               scalar("zero", model::Scalar::uint64), list("hits", scalar("", model::Scalar::uint16))},
              ""},
             {"of/units", {scalar("first", model::Scalar::uint64)}, ""}}};
}

std::uint16_t hit_of(std::uint64_t id, std::uint64_t index) { return static_cast<std::uint16_t>(id * 31 + index); }

// Units of 100 rows, whose keys and ids begin at `first`.
void write(std::string const& path, std::uint64_t first, std::uint64_t units, std::string const& codec,
           model::Schema const& schema = rows_and_sums()) {
    CreateOptions options;
    options.layout.wide_codec = options.layout.narrow_codec = codec;
    auto const writer = Writer::create(path, schema, options, {{"detector", "one"}, {"first", std::to_string(first)}});
    for (auto unit_first = first; unit_first < first + 100 * units; unit_first += 100) {
        auto unit = writer->work_unit(static_cast<std::int64_t>(unit_first), "from " + std::to_string(unit_first));
        std::vector<std::uint64_t> ids, lengths;
        std::vector<std::uint64_t> const zeros(100);
        std::vector<std::uint16_t> hits;
        for (auto id = unit_first; id < unit_first + 100; ++id) {
            ids.push_back(id);
            lengths.push_back(id % 4);
            for (std::uint64_t i = 0; i < id % 4; ++i) hits.push_back(hit_of(id, i));
        }
        std::span<std::byte const> const columns[] = {
            std::as_bytes(std::span(ids)), std::as_bytes(std::span(ids)), std::as_bytes(std::span(zeros)),
            std::as_bytes(std::span(lengths)), std::as_bytes(std::span(hits))};
        unit["rows"].append(100, columns);
        unit["of/units"].append(1, std::vector{std::as_bytes(std::span(&unit_first, 1))});
        ASSERT_TRUE(unit.commit());
    }
    writer->close(kTimeoutNs);
}

template <typename T>
std::vector<T> column(Reader const& reader, std::size_t table, std::size_t index, ItemRange range) {
    std::vector<T> values(range.count);
    reader.read(table, index, range, std::as_writable_bytes(std::span(values)));
    return values;
}

// All rows of files that begin at these ids, and where each unit's are.
void expect_rows(std::string const& path, std::vector<std::pair<std::uint64_t, std::uint64_t>> const& firsts) {
    auto const reader = Reader::open(path);
    std::vector<std::uint64_t> wanted, wanted_hits;
    for (auto const& [first, units] : firsts)
        for (auto id = first; id < first + 100 * units; ++id) wanted.push_back(id);
    ItemRange const all{0, reader->rows(0)};
    auto ids = column<std::uint64_t>(*reader, 0, 0, all);
    auto const units = reader->units();
    for (auto const& unit : units) {
        EXPECT_EQ(unit.summary, "from " + std::to_string(unit.key.integer));
        auto next = static_cast<std::uint64_t>(unit.key.integer);
        for (auto const& range : unit.ranges) {
            if (range.table == 1) {
                EXPECT_EQ(column<std::uint64_t>(*reader, 1, 0, {range.first_row, 1})[0], unit.key.integer);
                continue;
            }
            for (std::uint64_t i = 0; i < range.rows; ++i) ASSERT_EQ(ids.at(range.first_row + i), next++);
        }
        EXPECT_EQ(next, unit.key.integer + 100);
    }
    EXPECT_EQ(units.size() * 100, wanted.size());
    auto const lengths = column<std::uint64_t>(*reader, 0, 3, all);
    auto const hits = column<std::uint16_t>(*reader, 0, 4, reader->elements(0, 3, all));
    EXPECT_EQ(column<std::uint64_t>(*reader, 0, 1, all), ids);
    EXPECT_EQ(column<std::uint64_t>(*reader, 0, 2, all), std::vector<std::uint64_t>(ids.size()));
    std::size_t hit = 0;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        ASSERT_EQ(lengths[row], ids[row] % 4);
        for (std::uint64_t i = 0; i < lengths[row]; ++i) ASSERT_EQ(hits.at(hit++), hit_of(ids[row], i));
    }
    std::ranges::sort(ids);
    std::ranges::sort(wanted);
    EXPECT_EQ(ids, wanted);
    auto const verification = verify(path);
    EXPECT_EQ(verification.faults, 0u) << verification.messages[0];
}

class Merge : public ::testing::Test {
  protected:
    std::string message(std::vector<std::string> const& inputs, std::string const& to) {
        return message_of([&] { merge(inputs, to); });
    }

    Directory directory;
    std::string a = directory.file("a.root"), b = directory.file("b.root"), out = directory.file("out.root");
};

TEST_F(Merge, RowsUnitsAndMetadataOfAllFilesAreInOne) {
    write(a, 0, 300, "zstd-1");
    write(b, 100'000, 120, "lz4");
    write(directory.file("empty.root"), 500'000, 0, "zstd-5");
    write(directory.file("c.root"), 900'000, 1, "deflate-1");
    auto const result = merge({a, b, directory.file("empty.root"), directory.file("c.root")}, out);
    ASSERT_EQ(result.tables.size(), 2u);
    EXPECT_EQ(result.tables[0].rows, 42'100u);
    EXPECT_EQ(result.tables[1].rows, 421u);
    EXPECT_EQ(result.units, 421u);
    EXPECT_TRUE(result.left_out.empty());
    EXPECT_EQ(result.file_bytes, std::filesystem::file_size(out));
    expect_rows(out, {{0, 300}, {100'000, 120}, {900'000, 1}});

    auto const metadata = Reader::open(out)->metadata();
    EXPECT_EQ(metadata.at("detector"), "one");
    EXPECT_FALSE(metadata.contains("first"));
    auto const told = nlohmann::json::parse(metadata.at("merge"));
    ASSERT_EQ(told.size(), 4u);
    EXPECT_EQ(told[1]["file"], "b.root");
    EXPECT_EQ(told[1]["rows"]["of/units"], 120);
    EXPECT_EQ(told[1]["metadata"]["first"], "100000");
    EXPECT_EQ(told[1]["id"], Reader::open(b)->head().id);
}

TEST_F(Merge, TablesOfAFileBesideComeBehindThoseOfTheInputs) {
    write(a, 0, 3, "zstd-1");
    write(b, 1000, 4, "zstd-1");
    auto const beside = directory.file("beside.root");
    {
        auto const writer = Writer::create(beside, {{{"extra", {scalar("n", model::Scalar::uint64)}, ""}}}, {});
        std::uint64_t const rows[] = {7, 8, 9};
        writer->producer("extra").append(3, std::vector<std::span<std::byte const>>{std::as_bytes(std::span(rows))});
        writer->close(kTimeoutNs);
    }
    auto const result = merge({a, b}, out, {.beside = beside});
    ASSERT_EQ(result.tables.size(), 3u);
    EXPECT_EQ(result.tables[2].table, "extra");
    EXPECT_EQ(result.tables[2].rows, 3u);
    EXPECT_EQ(result.units, 7u);
    expect_rows(out, {{0, 3}, {1000, 4}});
    EXPECT_EQ(column<std::uint64_t>(*Reader::open(out), 2, 0, {0, 3}), (std::vector<std::uint64_t>{7, 8, 9}));
}

TEST_F(Merge, WhatWasMergedCanBeMergedAgain) {
    write(a, 0, 3, "zstd-1");
    write(b, 1000, 4, "zstd-1");
    merge({a, b}, out);
    write(directory.file("c.root"), 5000, 2, "zstd-1");
    merge({directory.file("c.root"), out}, directory.file("all.root"));
    expect_rows(directory.file("all.root"), {{0, 3}, {1000, 4}, {5000, 2}});
    auto const told = nlohmann::json::parse(Reader::open(directory.file("all.root"))->metadata().at("merge"));
    EXPECT_EQ(nlohmann::json::parse(std::string(told[1]["metadata"]["merge"])).size(), 2u);
}

TEST_F(Merge, EqualPagesStayTogether) {
    write(a, 0, 2000, "zstd-1");
    write(b, 1'000'000, 2000, "zstd-1");
    auto const places = [](std::string const& path) {
        std::set<std::uint64_t> offsets;
        auto const reader = Reader::open(path);
        std::size_t pages = 0;
        for (std::size_t i = 0; i < reader->tables()[0].columns.size(); ++i) {
            for (auto const& page : reader->column(0, i).pages) offsets.insert(page.offset), ++pages;
        }
        return std::pair(offsets.size(), pages);
    };
    auto const [of_a, pages_of_a] = places(a);
    auto const [of_b, pages_of_b] = places(b);
    ASSERT_LT(of_a, pages_of_a);
    merge({a, b}, out);
    EXPECT_EQ(places(out), std::pair(of_a + of_b, pages_of_a + pages_of_b));
}

TEST_F(Merge, OneFileIsWrittenWithoutWhatIsNotReferredTo) {
    write(a, 0, 500, "zstd-1");
    merge({a}, out);
    EXPECT_LE(std::filesystem::file_size(out), std::filesystem::file_size(a));
    expect_rows(out, {{0, 500}});
}

TEST_F(Merge, OtherFieldsTypesAndTablesAreRefusedByName) {
    write(a, 0, 1, "zstd-1");
    auto schema = rows_and_sums();
    schema.tables[0].fields[2].name = "one";
    Writer::create(b, schema, {})->close(kTimeoutNs);
    EXPECT_NE(message({a, b}, out).find("table 'rows': field 2 is 'one', not 'zero'"), std::string::npos);
    schema = rows_and_sums();
    schema.tables[0].fields[2].scalar = model::Scalar::int32;
    Writer::create(directory.file("c.root"), schema, {})->close(kTimeoutNs);
    EXPECT_NE(message({a, directory.file("c.root")}, out).find("field 'zero' is 'std::int32_t', not 'std::uint64_t'"),
              std::string::npos);
    schema.tables[0].fields = rows_and_sums().tables[0].fields;
    schema.tables[0].fields[2] = {"zero", model::Kind::record, {}, {}, {scalar("inner", model::Scalar::int32)}, "", ""};
    Writer::create(directory.file("e.root"), schema, {})->close(kTimeoutNs);
    schema.tables[0].fields[2].members[0].scalar = model::Scalar::int8;
    Writer::create(directory.file("f.root"), schema, {})->close(kTimeoutNs);
    EXPECT_NE(message({directory.file("e.root"), directory.file("f.root")}, out)
                  .find("field 'inner' is 'std::int8_t', not 'std::int32_t'"),
              std::string::npos);
    schema = rows_and_sums();
    schema.tables.pop_back();
    Writer::create(directory.file("d.root"), schema, {})->close(kTimeoutNs);
    EXPECT_NE(message({a, directory.file("d.root")}, out).find("table 'of/units' is only in the latter"),
              std::string::npos);
    write(directory.file("plain.root"), 0, 1, "plain+zstd-1");
    EXPECT_NE(message({a, directory.file("plain.root")}, out).find("stored in columns of another type"),
              std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Merge, NothingIsCountedTwice) {
    write(a, 0, 1, "zstd-1");
    EXPECT_NE(message({a, a}, out).find("it is the same file as"), std::string::npos);
    std::filesystem::copy(a, b);
    EXPECT_NE(message({a, b}, out).find("it is a copy of"), std::string::npos);
    EXPECT_NE(message({a}, a).find("the result would be that file"), std::string::npos);
    expect_rows(a, {{0, 1}});
}

TEST_F(Merge, ThereMayBeMoreInputsThanFilesThatAProcessMayHaveOpen) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    std::vector<std::string> inputs;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> firsts;
    for (std::uint64_t i = 0; i < 40; ++i) {
        inputs.push_back(directory.file(std::to_string(i) + ".root"));
        firsts.emplace_back(1000 * i, 1);
        write(inputs.back(), 1000 * i, 1, "zstd-1");
    }
    rlimit const few{30, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    auto const said = message(inputs, out);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(said, "");
    expect_rows(out, firsts);
}

TEST_F(Merge, WhatIsNotCompleteIsRefused) {
    write(a, 0, 1, "zstd-1");
    auto const open = Writer::create(b, rows_and_sums(), {});
    EXPECT_NE(message({a, b}, out).find("it is still being written, or was left behind"), std::string::npos);
    EXPECT_NE(message({a}, b).find("a run is there"), std::string::npos);
    EXPECT_NE(message({a, directory.file("none.root")}, out).find("there is no such file"), std::string::npos);
    Writer::create(directory.file("x.h5"), rows_and_sums(), {})->close(kTimeoutNs);
    EXPECT_NE(message({a, directory.file("x.h5")}, out).find("only clusters of RNTuples"), std::string::npos);
    EXPECT_NE(message({}, out).find("no file is named"), std::string::npos);
    open->close(kTimeoutNs);
    std::ofstream(directory.file("none.root")) << "no ROOT file at all";
    EXPECT_NE(message({a, directory.file("none.root")}, out), "");
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Merge, AResultThatIsThereIsReplacedOnlyWithForce) {
    write(a, 0, 1, "zstd-1");
    std::ofstream(out) << "mine";
    EXPECT_NE(message({a}, out).find("it exists already"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(out), 4u);
    merge({a}, out, {.force = true});
    expect_rows(out, {{0, 1}});
}

TEST_F(Merge, ADamagedPageIsNamedAndNothingIsWritten) {
    write(a, 0, 1, "zstd-1");
    write(b, 1000, 300, "lz4");
    auto const page = Reader::open(b)->column(0, 0).pages.at(0);
    std::fstream file(b, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(page.offset + 100));
    file.put('\x55');
    file.close();
    auto const said = message({a, b}, out);
    EXPECT_NE(said.find("b.root, table 'rows', cluster at row 0: the page at offset"), std::string::npos) << said;
    EXPECT_NE(said.find("its checksum does not fit"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Merge, AttributesOfTheFirstAreKeptAndThatIsSaid) {
    auto schema = rows_and_sums();
    write(a, 0, 1, "zstd-1", schema);
    schema.tables[0].attributes = {{"operator", {}, {}, {}, {"another operator"}}};
    write(b, 1000, 1, "zstd-1", schema);
    auto const result = merge({a, b}, out);
    ASSERT_EQ(result.left_out.size(), 1u);
    EXPECT_NE(result.left_out[0].str().find("attributes"), std::string::npos);
    expect_rows(out, {{0, 1}, {1000, 1}});
}

} // namespace
} // namespace thalweg::dataset
