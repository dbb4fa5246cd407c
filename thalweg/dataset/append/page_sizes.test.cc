#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/append/memory_budget.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::size_t kColumns = 400;
constexpr std::uint64_t kWideRows = 30'000;

model::Schema wide() {
    model::Table table;
    table.name = "t";
    for (std::size_t i = 0; i < kColumns; ++i) {
        auto number = scalar("", model::Scalar::uint32);
        number.name = fmt::format("x{}", i);
        table.fields.push_back(i % 4 == 0 ? list(number.name, scalar("", model::Scalar::uint32)) : number);
    }
    return {{table}};
}

std::uint32_t number_at(std::size_t column, std::uint64_t item) {
    return static_cast<std::uint32_t>((item * 2'654'435'761u) >> (column % 13)) + static_cast<std::uint32_t>(column);
}

std::uint64_t length_at(std::size_t field, std::uint64_t row) { return (row * 7 + field) % 5; }

// Writes, and returns the columns' pages.
model::TableMap write_and_read(CreateOptions options, std::uint64_t batch) {
    Directory const directory;
    auto const path = directory.file("run.root");
    options.layout.narrow_codec = "zstd-1";
    options.commit.rows_budget_bytes = 1 << 20;
    auto const writer = Writer::create(path, wide(), options);
    auto producer = writer->producer("t");
    auto const& columns = producer.columns();
    std::vector<std::uint64_t> items(columns.size());
    for (std::uint64_t row = 0; row < kWideRows; row += batch) {
        std::vector<std::vector<std::uint64_t>> lengths(columns.size());
        std::vector<std::vector<std::uint32_t>> values(columns.size());
        std::vector<std::span<std::byte const>> parts;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            std::uint64_t count = batch;
            if (columns[i].parent) {
                count = 0;
                for (auto const length : lengths[*columns[i].parent]) count += length;
            }
            for (std::uint64_t item = items[i]; item < items[i] + count; ++item) {
                if (columns[i].role == model::Column::Role::lengths)
                    lengths[i].push_back(length_at(i, item));
                else
                    values[i].push_back(number_at(i, item));
            }
            items[i] += count;
            parts.push_back(lengths[i].empty() ? std::as_bytes(std::span(values[i]))
                                               : std::as_bytes(std::span(lengths[i])));
        }
        producer.append(batch, parts);
    }
    producer.finish();
    EXPECT_LE(MemoryShare::taken_in_process(), options.write.staging.memory_bytes + (8 << 20));
    writer->close(kTimeoutNs);
    auto const reader = Reader::open(path);
    EXPECT_EQ(reader->rows(0), kWideRows);
    for (std::size_t i = 0; i < columns.size() && !::testing::Test::HasFailure(); ++i) {
        if (columns[i].role == model::Column::Role::lengths) {
            std::vector<std::uint64_t> lengths(kWideRows);
            reader->read(0, i, {0, kWideRows}, std::as_writable_bytes(std::span(lengths)));
            for (std::uint64_t row = 0; row < kWideRows; row += 7) EXPECT_EQ(lengths[row], length_at(i, row)) << i;
        } else {
            std::vector<std::uint32_t> values(items[i]);
            reader->read(0, i, {0, values.size()}, std::as_writable_bytes(std::span(values)));
            for (std::uint64_t item = 0; item < values.size(); item += 11)
                EXPECT_EQ(values[item], number_at(i, item)) << i;
        }
    }
    EXPECT_EQ(verify(path).faults, 0u);
    return reader->tables()[0];
}

TEST(PageSizes, ClustersOfAWideTableEndWhenItsMemoryIsUsed) {
    CreateOptions options;
    options.layout.cluster_bytes = 1 << 30;
    options.write.staging.memory_bytes = 8 << 20;
    options.write.seal_threads = 0;
    auto const map = write_and_read(options, 50);
    std::uint64_t raw_bytes = 0, pages = 0;
    for (auto const& column : map.columns) {
        for (auto const& page : column.pages) {
            raw_bytes += page.raw_bytes;
            ++pages;
        }
    }
    EXPECT_GT(map.columns[1].pages.size(), 3u) << "clusters";
    EXPECT_GT(raw_bytes / pages, 8u << 10) << "pages are as large as the memory allows, in the mean";
}

TEST(PageSizes, SealThreadsUseMemoryAgain) {
    CreateOptions options;
    options.layout.cluster_bytes = 1 << 30;
    options.write.staging.memory_bytes = 8 << 20;
    options.write.seal_threads = 2;
    write_and_read(options, 1000);
}

TEST(PageSizes, RowsThatTakeAllMemoryAreStillTaken) {
    CreateOptions options;
    options.layout.cluster_bytes = 1 << 30;
    options.write.staging.memory_bytes = 4 << 10; // the least it can do with
    write_and_read(options, 30'000);
}

// Row `row` has a list of `row % 7` numbers in each of the columns.
void append_lists(Producer& producer, std::uint64_t first, std::uint64_t rows) {
    std::vector<std::vector<std::uint64_t>> lengths;
    std::vector<std::vector<std::uint32_t>> values;
    for (auto const& column : producer.columns()) {
        lengths.emplace_back();
        values.emplace_back();
        for (auto row = first; row < first + rows; ++row) {
            if (column.role == model::Column::Role::lengths) lengths.back().push_back(row % 7);
            auto const count = column.parent ? row % 7 : column.role == model::Column::Role::lengths ? 0 : 1;
            for (std::uint64_t i = 0; i < count; ++i) values.back().push_back(number_at(row % 100, row + i));
        }
    }
    std::vector<std::span<std::byte const>> parts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        parts.push_back(lengths[i].empty() ? std::as_bytes(std::span(values[i]))
                                           : std::as_bytes(std::span(lengths[i])));
    }
    producer.append(rows, parts);
}

TEST(PageSizes, FilesOfAProcessShareItsMemory) {
    Directory const directory;
    CreateOptions options;
    options.layout.cluster_bytes = 1 << 30;
    options.write.staging.memory_bytes = 16 << 20;
    auto const begin_bytes = MemoryShare::taken_in_process();
    auto const one = Writer::create(directory.file("one.root"), wide(), options);
    auto const other = Writer::create(directory.file("other.root"), wide(), options);
    auto first = one->producer("t");
    for (std::uint64_t row = 0; row < 6000; row += 100) append_lists(first, row, 100);
    auto const alone_bytes = MemoryShare::taken_in_process() - begin_bytes;
    EXPECT_GT(alone_bytes, options.write.staging.memory_bytes / 4 * 3) << "the only one may have all of it";
    auto second = other->producer("t");
    for (std::uint64_t row = 0; row < 20'000; row += 100) {
        append_lists(first, 6000 + row, 100);
        append_lists(second, row, 100);
    }
    EXPECT_LE(MemoryShare::taken_in_process() - begin_bytes, options.write.staging.memory_bytes);
    for (auto* const producer : {&first, &second}) producer->finish();
    EXPECT_EQ(MemoryShare::taken_in_process(), begin_bytes);
    one->close(kTimeoutNs);
    other->close(kTimeoutNs);
    EXPECT_EQ(Reader::open(directory.file("one.root"))->rows(0), 26'000u);
    EXPECT_EQ(verify(directory.file("one.root")).faults + verify(directory.file("other.root")).faults, 0u);
}

CreateOptions small_pages(std::uint64_t memory_bytes) {
    CreateOptions options;
    options.layout.table_page_bytes = 1 << 20;
    options.write.staging.memory_bytes = memory_bytes;
    return options;
}

void expect_lists(std::string const& path, std::uint64_t rows) {
    auto const reader = Reader::open(path);
    ASSERT_EQ(reader->rows(0), rows);
    std::vector<std::uint32_t> values(reader->elements(0, 0, {0, rows}).count);
    reader->read(0, 1, {0, values.size()}, std::as_writable_bytes(std::span(values)));
    std::size_t at = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
        for (std::uint64_t i = 0; i < row % 7; ++i, ++at) ASSERT_EQ(values[at], number_at(row % 100, row + i)) << row;
    }
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST(PageSizes, ProducersOfHdf5ShareTheMemoryOfTheProcess) {
    Directory const directory;
    auto const options = small_pages(8 << 20);
    auto const begin_bytes = MemoryShare::taken_in_process();
    auto const one = Writer::create(directory.file("one.h5"), wide(), options);
    auto const other = Writer::create(directory.file("other.h5"), wide(), options);
    auto first = one->producer("t");
    auto const taken_bytes = [&] { return MemoryShare::taken_in_process() - begin_bytes; };
    EXPECT_LT(taken_bytes(), 4u << 20) << "a page of each column, in whole blocks";
    for (std::uint64_t row = 0; row < 6000; row += 100) append_lists(first, row, 100);
    EXPECT_LE(taken_bytes(), options.write.staging.memory_bytes);
    auto second = other->producer("t");
    for (std::uint64_t row = 0; row < 20'000; row += 100) {
        append_lists(first, 6000 + row, 100);
        append_lists(second, row, 100);
    }
    EXPECT_LE(taken_bytes(), options.write.staging.memory_bytes);
    for (auto* const producer : {&first, &second}) producer->finish();
    EXPECT_EQ(taken_bytes(), 0u);
    EXPECT_EQ(one->status().memory_need, "");
    EXPECT_TRUE(one->close(kTimeoutNs).report.notes.empty());
    other->close(kTimeoutNs);
    expect_lists(directory.file("one.h5"), 26'000);
    expect_lists(directory.file("other.h5"), 20'000);
}

TEST(PageSizes, TheLeastMemoryIsEnough) {
    for (unsigned const threads : {0u, 2u}) {
        Directory const directory;
        auto options = small_pages(4 << 10);
        options.write.seal_threads = threads;
        auto const writer = Writer::create(directory.file("run.h5"), wide(), options);
        auto producer = writer->producer("t");
        auto const begin_bytes = MemoryShare::taken_in_process();
        append_lists(producer, 0, 10'000);
        for (std::uint64_t row = 10'000; row < 12'000; ++row) append_lists(producer, row, 1);
        EXPECT_EQ(MemoryShare::taken_in_process(), begin_bytes);
        producer.finish();
        writer->close(kTimeoutNs);
        expect_lists(directory.file("run.h5"), 12'000);
    }
}

template <class Condition> void wait_for(Condition const& condition) {
    for (std::uint64_t waited_ns = 0; !condition() && waited_ns < kTimeoutNs; waited_ns += 1'000'000)
        base::sleep_ns(1'000'000);
    ASSERT_TRUE(condition());
}

// Page sizes of HDF5 are those of the file: a later producer needs the same set.
TEST(PageSizes, WhatProducersCannotDoWithoutIsSaidWhereItIsMoreThanTheBudget) {
    for (auto const* const name : {"run.h5", "run.root"}) {
        Directory const directory;
        auto const writer = Writer::create(directory.file(name), wide(), small_pages(5 << 20));
        std::vector<Producer> producers;
        for (int i = 0; i < 3; ++i) {
            producers.push_back(writer->producer("t"));
            wait_for([&] {
                auto const met = writer->status().producers;
                return met.size() == producers.size() && met.back().state == SlotState::active;
            });
            if (i == 0) {
                EXPECT_EQ(writer->status().memory_need, "") << name;
            }
        }
        auto const said = writer->status().memory_need;
        EXPECT_NE(said.find("more than the 5.24 MB that they should (3 producers cannot do with less"),
                  std::string::npos)
            << said;
        EXPECT_NE(said.find("the last one in table 't'"), std::string::npos) << said;
        for (auto& producer : producers) producer.finish();
        EXPECT_EQ(writer->close(kTimeoutNs).report.notes, std::vector{said});
    }
}

// First items and stored bytes of all pages, by column.
using Cuts = std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

Cuts cuts_of(std::uint64_t memory_bytes, std::uint64_t batch, bool fixed) {
    std::shared_ptr<storage::Storage> const file = storage::make_memory_storage("run.root");
    std::shared_ptr<storage::Storage> const journal = storage::make_memory_storage("run.root.journal");
    auto const& format = format_for("run.root");
    CreateOptions options;
    options.layout.narrow_page_bytes = 4 << 10;
    options.layout.cluster_bytes = 1 << 20;
    options.write.staging.memory_bytes = memory_bytes;
    auto head = format.make_head(wide(), options.layout, {});
    head.layouts[0].cluster_bytes = options.layout.cluster_bytes;
    head.layouts[0].fixed_cuts = fixed;
    auto const writer = Writer::create_on(file, journal, format, head, options);
    auto producer = writer->producer("t");
    for (std::uint64_t row = 0; row < 5000; row += batch) append_lists(producer, row, std::min(batch, 5000 - row));
    producer.finish();
    writer->close(kTimeoutNs);
    Cuts cuts;
    auto const map = format.load(*file);
    for (auto const& column : map.tables[0].columns) {
        cuts.emplace_back();
        for (auto const& page : column.pages) cuts.back().emplace_back(page.first, page.stored_bytes);
    }
    return cuts;
}

TEST(PageSizes, FixedCutsFollowFromTheRowsAlone) {
    auto const cuts = cuts_of(64 << 20, 100, true);
    EXPECT_GT(cuts[1].size(), 5u) << "clusters";
    EXPECT_EQ(cuts, cuts_of(64 << 20, 5000, true));
    EXPECT_EQ(cuts, cuts_of(1, 37, true)) << "they have the memory that they need";
    EXPECT_NE(cuts, cuts_of(1, 37, false)) << "the others cut where memory is used up";
}

} // namespace
} // namespace thalweg::dataset
