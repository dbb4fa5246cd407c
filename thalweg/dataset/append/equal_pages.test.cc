#include <gtest/gtest.h>
#include <set>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// Two columns with the same numbers, one that is constant, one that differs.
model::Schema numbers() {
    return {{{"t",
              {scalar("a", model::Scalar::uint32), scalar("b", model::Scalar::uint32),
               scalar("zero", model::Scalar::float64), scalar("c", model::Scalar::uint32)},
              ""}}};
}

void append_numbers(Producer& out, std::uint64_t first, std::uint64_t rows) {
    std::vector<std::uint32_t> values, others;
    for (auto row = first; row < first + rows; ++row) {
        values.push_back(static_cast<std::uint32_t>(row * 2'654'435'761u % 1009));
        others.push_back(static_cast<std::uint32_t>(row));
    }
    std::vector<double> const zeros(rows);
    auto const same = std::as_bytes(std::span(values));
    out.append(rows, std::vector<std::span<std::byte const>>{same, same, std::as_bytes(std::span(zeros)),
                                                             std::as_bytes(std::span(others))});
}

struct File {
    std::set<std::uint64_t> places;
    std::size_t pages = 0;
};

File expect_numbers(std::string const& path, std::uint64_t rows) {
    auto const reader = Reader::open(path);
    EXPECT_EQ(reader->rows(0), rows);
    File file;
    for (std::size_t column = 0; column < 4; ++column) {
        for (auto const& page : reader->tables()[0].columns[column].pages) {
            file.places.insert(page.offset);
            ++file.pages;
        }
    }
    for (std::size_t const column : {0, 1, 3}) {
        std::vector<std::uint32_t> values(rows);
        reader->read(0, column, {0, rows}, std::as_writable_bytes(std::span(values)));
        for (std::uint64_t row = 0; row < rows; ++row) {
            auto const expected = static_cast<std::uint32_t>(column == 3 ? row : row * 2'654'435'761u % 1009);
            EXPECT_EQ(values[row], expected);
            if (values[row] != expected) return file;
        }
    }
    return file;
}

CreateOptions small_pages() {
    CreateOptions options;
    options.layout.narrow_codec = "zstd-1";
    options.layout.narrow_page_bytes = 4096;
    options.layout.cluster_bytes = 256 << 10;
    options.write.extent_bytes = 32 << 10; // several a cluster
    return options;
}

constexpr std::uint64_t kEqualRows = 60'000;
constexpr std::uint64_t kMoreRows = 5 * kEqualRows;

TEST(EqualPages, AreStoredOnceInAnRNTuple) {
    for (unsigned const threads : {0u, 2u}) {
        Directory const directory;
        auto const path = directory.file("run.root");
        auto options = small_pages();
        options.write.seal_threads = threads;
        auto const writer = Writer::create(path, numbers(), options);
        auto producer = writer->producer("t");
        for (std::uint64_t row = 0; row < kEqualRows; row += 1000) append_numbers(producer, row, 1000);
        producer.finish();
        auto const result = writer->close(kTimeoutNs);
        auto const file = expect_numbers(path, kEqualRows);
        EXPECT_LT(file.places.size(), file.pages / (threads == 0 ? 3 : 2) * 2)
            << "every cluster has 2 pages of zeros a page of the others, and those of a are those of b";
        EXPECT_LE(result.report.tables[0].stored_bytes, result.file_bytes);
        auto const verification = verify(path);
        EXPECT_EQ(verification.faults, 0u);
        EXPECT_EQ(verification.adler32, result.adler32);
    }
}

TEST(EqualPages, AreRecovered) {
    Directory const directory;
    auto const path = directory.file("run.root");
    {
        auto options = small_pages();
        options.write.staging.memory_bytes = 1 << 20; // so that `append` has to wait until pages are announced
        auto const writer = Writer::create(path, numbers(), options);
        auto producer = writer->producer("t");
        for (std::uint64_t row = 0; row < kMoreRows; row += 1000) append_numbers(producer, row, 1000);
    } // neither finished nor closed
    expect_numbers(path, kMoreRows);
    auto const result = recover(path);
    EXPECT_EQ(result.report.tables[0].lost_rows, 0u);
    auto const file = expect_numbers(path, kMoreRows);
    EXPECT_LT(file.places.size(), file.pages);
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST(EqualPages, AreStoredTwiceInHdf5) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const writer = Writer::create(path, numbers(), small_pages());
    auto producer = writer->producer("t");
    append_numbers(producer, 0, kEqualRows);
    producer.finish();
    writer->close(kTimeoutNs);
    auto const file = expect_numbers(path, kEqualRows);
    EXPECT_EQ(file.places.size(), file.pages);
}

} // namespace
} // namespace thalweg::dataset
