// Clusters of pages that are encoded already become a producer's own, in work units and outside of them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/table_encoder.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// A row's number, and a list that follows from it.
model::Schema lists() {
    return {{{"t", {scalar("id", model::Scalar::uint64), list("hits", scalar("", model::Scalar::uint16))}, ""}}};
}

// Rows [first, first + rows) as flat columns.
struct ListRows {
    ListRows(std::uint64_t first, std::uint64_t rows) : count(rows) {
        for (auto id = first; id < first + rows; ++id) {
            ids.push_back(id);
            lengths.push_back(id % 5);
            for (std::uint64_t i = 0; i < id % 5; ++i) hits.push_back(sample(3, id, i));
        }
    }
    std::vector<std::span<std::byte const>> columns() const {
        return {std::as_bytes(std::span(ids)), std::as_bytes(std::span(lengths)), std::as_bytes(std::span(hits))};
    }

    std::uint64_t count;
    std::vector<std::uint64_t> ids, lengths;
    std::vector<std::uint16_t> hits;
};

// One cluster of these rows, each column in pages of so many items. `break_at`: throws at that page.
void append_encoded(Producer& to, model::RunHead const& head, ListRows const& rows, std::uint64_t page_items,
                    int break_at = -1) {
    TableEncoder encoder(head.columns[0], head.layouts[0]);
    auto const columns = rows.columns();
    std::vector<std::uint64_t> const items{rows.count, rows.count, rows.hits.size()};
    to.append_cluster(rows.count, items, [&](Producer::TakePages const& take) {
        for (std::size_t column = columns.size(); column-- > 0;) { // in another order than the schema's
            auto const item_bytes = head.columns[0][column].item_bytes();
            std::uint64_t sum = 0;
            for (std::uint64_t first = 0; first < items[column]; first += page_items) {
                if (break_at-- == 0) throw std::runtime_error("the source is damaged");
                auto const count = std::min(page_items, items[column] - first);
                auto const raw = columns[column].subspan(first * item_bytes, count * item_bytes);
                std::vector<std::byte> stored(encoder.bound_bytes(column, raw.size()));
                stored.resize(encoder.encode(column, raw, sum, stored).stored_bytes);
                take.one({column, first, count, sum, stored.size()}, stored);
                if (column == 1)
                    sum = std::accumulate(rows.lengths.begin() + static_cast<std::ptrdiff_t>(first),
                                          rows.lengths.begin() + static_cast<std::ptrdiff_t>(first + count), sum);
            }
        }
    });
}

// Pages as another file has them: each with its checksum behind it.
struct OtherFile {
    std::vector<std::byte> bytes;
    std::vector<Producer::EncodedPage> pages;

    void add(Producer::EncodedPage page, std::span<std::byte const> stored) {
        page.stored_bytes = stored.size();
        pages.push_back(page);
        bytes.insert(bytes.end(), stored.begin(), stored.end());
        auto const checksum = base::xxh3(stored);
        auto const tail = std::as_bytes(std::span(&checksum, 1));
        bytes.insert(bytes.end(), tail.begin(), tail.end());
    }

    // The pages from one to another one, as one run.
    void give(Producer::TakePages const& take, std::size_t first, std::size_t end) const {
        std::size_t begin = 0, size = 0;
        for (std::size_t i = 0; i < end; ++i)
            (i < first ? begin : size) += pages[i].stored_bytes + format::kPageChecksumBytes;
        take.run(std::span(pages).subspan(first, end - first),
                 {[&](std::span<std::byte> to) {
                      ASSERT_EQ(to.size(), size);
                      std::ranges::copy(std::span(bytes).subspan(begin, size), to.begin());
                  },
                  [&](std::size_t i) { base::fail_data({fmt::format("page {} is damaged", first + i)}); }});
    }
};

// One cluster of numbers, their lengths in two pages that are equal, and no hits.
OtherFile empty_lists(model::RunHead const& head, std::uint64_t first_id) {
    OtherFile file;
    TableEncoder encoder(head.columns[0], head.layouts[0]);
    auto const add = [&](std::size_t column, std::uint64_t first, std::vector<std::uint64_t> const& values) {
        auto const raw = std::as_bytes(std::span(values));
        std::vector<std::byte> stored(encoder.bound_bytes(column, raw.size()));
        stored.resize(encoder.encode(column, raw, 0, stored).stored_bytes);
        file.add({column, first, values.size()}, stored);
    };
    std::vector<std::uint64_t> ids(1000);
    std::iota(ids.begin(), ids.end(), first_id);
    add(0, 0, ids);
    for (std::uint64_t first = 0; first < 1000; first += 500) add(1, first, std::vector<std::uint64_t>(500));
    std::iota(ids.begin(), ids.end(), first_id + 1000);
    add(0, 1000, ids);
    for (std::uint64_t first = 1000; first < 2000; first += 500) add(1, first, std::vector<std::uint64_t>(500));
    return file;
}

// The numbers of all rows, each of which has its list.
std::vector<std::uint64_t> ids_in(Reader const& reader) {
    auto const rows = reader.rows(0);
    std::vector<std::uint64_t> ids(rows), lengths(rows);
    reader.read(0, 0, {0, rows}, std::as_writable_bytes(std::span(ids)));
    reader.read(0, 1, {0, rows}, std::as_writable_bytes(std::span(lengths)));
    auto const elements = reader.elements(0, 1, {0, rows});
    std::vector<std::uint16_t> hits(elements.count);
    reader.read(0, 2, elements, std::as_writable_bytes(std::span(hits)));
    std::size_t at = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
        EXPECT_EQ(lengths[row], ids[row] % 5);
        for (std::uint64_t i = 0; i < lengths[row]; ++i) EXPECT_EQ(hits.at(at++), sample(3, ids[row], i));
    }
    return ids;
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> all(count);
    std::iota(all.begin(), all.end(), first);
    return all;
}

CreateOptions options_with(unsigned seal_threads) {
    CreateOptions options;
    options.layout.narrow_page_bytes = 4096;
    options.write.seal_threads = seal_threads;
    return options;
}

struct AppendCluster : ::testing::TestWithParam<unsigned> {
    std::unique_ptr<Writer> create() { return Writer::create(path, lists(), options_with(GetParam())); }

    Directory directory;
    std::string const path = directory.file("run.root");
};

TEST_P(AppendCluster, RowsInFrontAndBehindAreWhereTheyWere) {
    auto const writer = create();
    auto producer = writer->producer("t");
    producer.append(700, ListRows(0, 700).columns());
    append_encoded(producer, writer->head(), ListRows(700, 3000), 1000); // pages of more than the layout's size
    append_encoded(producer, writer->head(), ListRows(3700, 1), 1000);
    append_encoded(producer, writer->head(), ListRows(3701, 0), 1000);
    producer.append(5000, ListRows(3701, 5000).columns());
    EXPECT_EQ(producer.rows(), 8701u);
    append_encoded(producer, writer->head(), ListRows(8701, 299), 77);
    producer.finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 9000u);
    auto const reader = Reader::open(path);
    EXPECT_EQ(ids_in(*reader), numbers(0, 9000));
    std::set<std::uint64_t> clusters;
    for (auto const& page : reader->tables()[0].columns[0].pages) clusters.insert(page.cluster);
    EXPECT_TRUE(clusters.contains(700) && clusters.contains(3700) && clusters.contains(3701));
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST_P(AppendCluster, WorkUnitsCountThemOnceAndDropThem) {
    auto const writer = create();
    for (std::int64_t key = 0; key < 6; ++key) {
        auto const first = static_cast<std::uint64_t>(key) * 1000;
        auto unit = writer->work_unit(key, "");
        auto& producer = unit["t"];
        producer.append(10, ListRows(first, 10).columns());
        append_encoded(producer, writer->head(), ListRows(first + 10, 900), 500);
        producer.append(90, ListRows(first + 910, 90).columns());
        if (key % 2 == 0) unit.commit();
    }
    auto again = writer->work_unit(4, "");
    append_encoded(again["t"], writer->head(), ListRows(0, 100), 50);
    EXPECT_FALSE(again.commit());
    EXPECT_EQ(writer->close(kTimeoutNs).report.units, 3u);
    auto const ids = ids_in(*Reader::open(path));
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_EQ(ids.size(), 3000u);
    for (auto const id : ids) EXPECT_EQ(id / 1000 % 2, 0u);
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST_P(AppendCluster, OfOneThatEndsInTheMiddleNothingCounts) {
    auto const writer = create();
    {
        auto unit = writer->work_unit(1, "");
        unit["t"].append(500, ListRows(0, 500).columns());
        unit.commit();
    }
    for (int page = 0; page < 7; ++page) {
        auto unit = writer->work_unit(2 + page, "");
        EXPECT_THROW(append_encoded(unit["t"], writer->head(), ListRows(500, 900), 333, page), std::runtime_error);
        EXPECT_NE(message_of([&] { unit["t"].append(1, ListRows(0, 1).columns()); }), "");
        unit.drop();
    }
    {
        auto unit = writer->work_unit(100, "");
        append_encoded(unit["t"], writer->head(), ListRows(500, 900), 333);
        unit.commit();
    }
    EXPECT_EQ(writer->close(kTimeoutNs).report.units, 2u);
    auto ids = ids_in(*Reader::open(path));
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, numbers(0, 1400));
}

// If pages are equal, only the first one is there, and later ones move up.
TEST_P(AppendCluster, PagesThatLieOneBehindTheOtherAreReadAtOnce) {
    auto const writer = create();
    auto producer = writer->producer("t");
    auto const file = empty_lists(writer->head(), 7);
    for (auto const& cuts : {std::vector<std::size_t>{0, 6}, std::vector<std::size_t>{0, 1, 4, 6}}) {
        producer.append_cluster(2000, std::vector<std::uint64_t>{2000, 2000, 0}, [&](auto const& take) {
            for (std::size_t i = 1; i < cuts.size(); ++i) file.give(take, cuts[i - 1], cuts[i]);
        });
    }
    producer.finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 4000u);
    auto const reader = Reader::open(path);
    std::vector<std::uint64_t> ids(4000), lengths(4000, 1), expected = numbers(7, 2000);
    expected.insert(expected.end(), expected.begin(), expected.begin() + 2000);
    reader->read(0, 0, {0, 4000}, std::as_writable_bytes(std::span(ids)));
    reader->read(0, 1, {0, 4000}, std::as_writable_bytes(std::span(lengths)));
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(lengths, std::vector<std::uint64_t>(4000));
    std::set<std::uint64_t> places;
    for (auto const& page : reader->column(0, 1).pages) places.insert(page.offset);
    EXPECT_EQ(places.size(), 2u); // one a cluster
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST_P(AppendCluster, APageThatDoesNotFitItsChecksumIsNamed) {
    auto const writer = create();
    auto const whole = empty_lists(writer->head(), 7);
    for (std::size_t damaged = 0; damaged < whole.pages.size(); ++damaged) {
        auto file = whole;
        std::size_t end = 0;
        for (std::size_t i = 0; i <= damaged; ++i) end += file.pages[i].stored_bytes + format::kPageChecksumBytes;
        file.bytes[end - (damaged % 2 == 0 ? 1 : format::kPageChecksumBytes + 1)] ^= std::byte{0x40};
        auto producer = writer->producer("t");
        auto const give = [&](auto const& take) { file.give(take, 0, file.pages.size()); };
        EXPECT_EQ(message_of([&] {
                      producer.append_cluster(2000, std::vector<std::uint64_t>{2000, 2000, 0}, give);
                  }),
                  fmt::format("page {} is damaged", damaged));
    }
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 0u);
}

TEST_P(AppendCluster, PagesThatDoNotFitAreRefused) {
    auto const writer = create();
    auto const nothing = [](Producer::TakePages const&) {};
    auto const refused = [&](std::vector<std::uint64_t> const& items, auto const& give) {
        auto producer = writer->producer("t");
        return message_of([&] { producer.append_cluster(10, items, give); });
    };
    EXPECT_NE(refused({10, 10}, nothing).find("2 columns were given, and it has 3"), std::string::npos);
    EXPECT_NE(refused({9, 10, 0}, nothing).find("column 'id' has 9 items, and there are 10 rows"), std::string::npos);
    EXPECT_NE(refused({10, 10, 4}, nothing).find("pages of column 'id' have 0 items, and 10"), std::string::npos);
    std::byte const byte{};
    auto const beyond = [&](auto const& take) { take.one({2, 3, 2, 0, 1}, {&byte, 1}); };
    EXPECT_NE(refused({10, 10, 4}, beyond).find("has no place in its cluster"), std::string::npos);
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 0u);
}

TEST_P(AppendCluster, WhoReadsTheOpenRunSeesThem) {
    auto const writer = create();
    auto producer = writer->producer("t");
    append_encoded(producer, writer->head(), ListRows(0, 3000), 700);
    producer.append(5, ListRows(3000, 5).columns());
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 500 && ids.size() < 3005; ++i) {
        ids = ids_in(*Reader::open(path));
        ::usleep(20'000);
    }
    EXPECT_EQ(ids, numbers(0, 3005));
    producer.finish();
    writer->close(kTimeoutNs);
}

// Whatever moment it is: what was said to be appended is there, and nothing is there twice or in part.
TEST_P(AppendCluster, RowsOutliveTheDeathOfAll) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    for (int round = 0; round < 12; ++round) {
        auto const name = directory.file("killed" + std::to_string(round) + ".root");
        int pipe[2];
        ASSERT_EQ(::pipe(pipe), 0);
        auto const child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto const writer = Writer::create(name, lists(), options_with(GetParam()));
            auto producer = writer->producer("t");
            for (std::uint64_t rows = 0;; rows += 400) {
                if (rows % 1200 == 400)
                    producer.append(400, ListRows(rows, 400).columns());
                else
                    append_encoded(producer, writer->head(), ListRows(rows, 400), 900);
                auto const there = rows + 400;
                static_cast<void>(!::write(pipe[1], &there, sizeof there));
            }
        }
        ::close(pipe[1]);
        std::uint64_t published = 0, more = 0;
        ASSERT_EQ(::read(pipe[0], &published, sizeof published), sizeof published);
        ::usleep(static_cast<useconds_t>(7919 * round % 60'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        while (::read(pipe[0], &more, sizeof more) == sizeof more) published = more;
        ::close(pipe[0]);
        auto const report = recover(name).report;
        auto const ids = ids_in(*Reader::open(name));
        EXPECT_GE(ids.size(), published) << "round " << round;
        EXPECT_LE(ids.size(), published + 400) << "round " << round;
        EXPECT_EQ(report.tables[0].lost_rows, 0u) << "round " << round;
        EXPECT_EQ(ids, numbers(0, ids.size())) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(SealThreads, AppendCluster, ::testing::Values(0u, 2u));

TEST(AppendClusterInHdf5, IsRefused) {
    Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), lists(), {});
    auto producer = writer->producer("t");
    std::vector<std::uint64_t> const items{1, 1, 0};
    EXPECT_NE(message_of([&] { producer.append_cluster(1, items, [](auto const&) {}); }).find("has no clusters"),
              std::string::npos);
    producer.finish();
    writer->close(kTimeoutNs);
}

} // namespace
} // namespace thalweg::dataset
