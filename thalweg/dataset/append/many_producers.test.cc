// Runs of thousands of producers that live for a few rows each. THALWEG_PRODUCERS says how many.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::uint32_t producers_wanted() {
    auto const* text = std::getenv("THALWEG_PRODUCERS");
    return text != nullptr ? static_cast<std::uint32_t>(std::atoi(text)) : 5000;
}

model::Schema tracks() {
    return {{{"events",
              {scalar("producer", model::Scalar::uint32), scalar("row", model::Scalar::uint32),
               list("hits", scalar("", model::Scalar::uint16)),
               list("tracks", list("points", scalar("", model::Scalar::float32)))},
              ""}}};
}

std::uint64_t hits_of(std::uint32_t producer, std::uint32_t row) { return (producer + row * 3) % 5; }
std::uint64_t tracks_of(std::uint32_t producer, std::uint32_t row) { return (producer * 7 + row) % 3; }
std::uint64_t points_of(std::uint32_t producer, std::uint32_t row, std::uint64_t track) {
    return (producer + row + track * 2) % 4;
}
std::uint16_t hit(std::uint32_t producer, std::uint32_t row, std::uint64_t index) {
    return static_cast<std::uint16_t>(producer * 31 + row * 7 + index);
}
float point(std::uint32_t producer, std::uint32_t row, std::uint64_t track, std::uint64_t index) {
    return static_cast<float>(producer) + static_cast<float>(row * 100 + track * 10 + index) / 1024;
}

struct Rows {
    std::vector<std::uint32_t> producers, rows;
    std::vector<std::uint64_t> hit_lengths, track_lengths, point_lengths;
    std::vector<std::uint16_t> hits;
    std::vector<float> points;

    void add(std::uint32_t producer, std::uint32_t row) {
        producers.push_back(producer);
        rows.push_back(row);
        hit_lengths.push_back(hits_of(producer, row));
        for (std::uint64_t i = 0; i < hit_lengths.back(); ++i) hits.push_back(hit(producer, row, i));
        track_lengths.push_back(tracks_of(producer, row));
        for (std::uint64_t track = 0; track < track_lengths.back(); ++track) {
            point_lengths.push_back(points_of(producer, row, track));
            for (std::uint64_t i = 0; i < point_lengths.back(); ++i) points.push_back(point(producer, row, track, i));
        }
    }
    void append_to(Producer& out) const {
        std::span<std::byte const> const columns[] = {
            std::as_bytes(std::span(producers)),     std::as_bytes(std::span(rows)),
            std::as_bytes(std::span(hit_lengths)),   std::as_bytes(std::span(hits)),
            std::as_bytes(std::span(track_lengths)), std::as_bytes(std::span(point_lengths)),
            std::as_bytes(std::span(points))};
        out.append(rows.size(), columns);
    }
};

template <typename T> std::vector<T> column(Reader const& reader, std::size_t index, ItemRange range) {
    std::vector<T> values(range.count);
    reader.read(0, index, range, std::as_writable_bytes(std::span(values)));
    return values;
}

// All values, in the order of the file. Returns how many rows each producer has.
std::map<std::uint32_t, std::uint32_t> check_values(Reader const& reader) {
    ItemRange const all{0, reader.rows(0)};
    auto const producers = column<std::uint32_t>(reader, 0, all), rows = column<std::uint32_t>(reader, 1, all);
    Rows expected;
    std::map<std::uint32_t, std::uint32_t> counts;
    for (std::size_t i = 0; i < producers.size(); ++i) {
        expected.add(producers[i], rows[i]);
        EXPECT_EQ(rows[i], counts[producers[i]]++);
    }
    auto const hits = reader.elements(0, 2, all);
    auto const tracks = reader.elements(0, 4, all);
    auto const points = reader.elements(0, 5, tracks);
    EXPECT_EQ(column<std::uint64_t>(reader, 2, all), expected.hit_lengths);
    EXPECT_EQ(column<std::uint16_t>(reader, 3, hits), expected.hits);
    EXPECT_EQ(column<std::uint64_t>(reader, 4, all), expected.track_lengths);
    EXPECT_EQ(column<std::uint64_t>(reader, 5, tracks), expected.point_lengths);
    EXPECT_EQ(column<float>(reader, 6, points), expected.points);
    return counts;
}

class ManyProducers : public ::testing::TestWithParam<char const*> {
  protected:
    std::string path() const { return directory_.file(std::string("run") + GetParam()); }

    // One of them, the fourth, has pages of its own.
    static std::uint32_t rows_of(std::uint32_t producer) { return producer == 3 ? 20'000 : 1 + producer % 3; }

    void append(Writer& writer, std::uint32_t number) {
        Rows rows;
        for (std::uint32_t row = 0; row < rows_of(number); ++row) rows.add(number, row);
        auto producer = writer.producer("events");
        rows.append_to(producer);
        producer.finish();
    }

    void expect_all(std::map<std::uint32_t, std::uint32_t> const& counts, std::uint32_t producers) {
        ASSERT_EQ(counts.size(), producers);
        for (auto const& [number, count] : counts) ASSERT_EQ(count, rows_of(number)) << number;
    }

    Directory directory_;
};

TEST_P(ManyProducers, ShareWhatOneOfThemWouldNotFill) {
    auto const producers = producers_wanted();
    CreateOptions options;
    options.layout.narrow_page_bytes = 8192;
    options.write.staging.page_ring_bytes = 1 << 20;
    auto const writer = Writer::create(path(), tracks(), options);
    auto const begin_ns = base::thread_cpu_ns();
    for (std::uint32_t number = 0; number < producers; ++number) append(*writer, number);
    auto const appended_ns = base::thread_cpu_ns();
    auto const result = writer->close(kTimeoutNs);
    auto const closed_ns = base::thread_cpu_ns();
    EXPECT_EQ(result.report.tables[0].lost_rows, 0u);
    auto const reader = Reader::open(path());
    auto const opened_ns = base::thread_cpu_ns();
    expect_all(check_values(*reader), producers);
    EXPECT_EQ(verify(path()).faults, 0u);
    fmt::print(
        "{} producers: appended {:.2f} s, closed {:.2f} s (gather {:.2f}, complete {:.2f}), opened {:.3f} s CPU, "
        "{} bytes\n",
        producers, double(appended_ns - begin_ns) / 1e9, double(closed_ns - appended_ns) / 1e9,
        double(result.gather_cpu_ns) / 1e9, double(result.complete_cpu_ns) / 1e9, double(opened_ns - closed_ns) / 1e9,
        result.file_bytes);
    // Their values have some 100 bytes each, and less if compressed. A part or a cluster of one's own takes kilobytes.
    EXPECT_LT(result.file_bytes, 2 * base::kMiB + producers * 200);
}

TEST_P(ManyProducers, AreReadWhileTheRunIsOpen) {
    std::uint32_t const producers = 500;
    CreateOptions options;
    options.commit.flush_interval_ns = 20'000'000;
    auto const writer = Writer::create(path(), tracks(), options);
    for (std::uint32_t number = 0; number < producers; ++number) append(*writer, number);
    std::map<std::uint32_t, std::uint32_t> counts;
    for (int i = 0; counts.size() < producers && i < 2000; ++i) counts = check_values(*Reader::open(path()));
    EXPECT_EQ(counts.size(), producers);
    writer->close(kTimeoutNs);
}

INSTANTIATE_TEST_SUITE_P(Containers, ManyProducers, ::testing::Values(".h5", ".root"));

} // namespace
} // namespace thalweg::dataset
