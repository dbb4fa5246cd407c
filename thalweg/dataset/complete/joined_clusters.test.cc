// Clusters that age ended, so that a slow run could be looked at, are encoded again as larger ones when it is closed.
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/storage/test_faulty.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::size_t kClusters = 10; // that a slow run has, at least

// A row's number, and a list that follows from it: of 0 to 4 numbers.
model::Schema lists() {
    return {{{"t", {scalar("id", model::Scalar::uint64), list("values", scalar("", model::Scalar::uint16))}, ""}}};
}

std::vector<std::uint16_t> values_of(std::uint64_t id) {
    std::vector<std::uint16_t> values;
    for (std::uint64_t i = 0; i < id % 5; ++i)
        values.push_back(static_cast<std::uint16_t>((id * 2'654'435'761u + i * 40'503u) >> 7));
    return values;
}

void append_lists(Producer& out, std::uint64_t first, std::uint64_t rows) {
    std::vector<std::uint64_t> ids, lengths;
    std::vector<std::uint16_t> items;
    for (auto id = first; id < first + rows; ++id) {
        auto const values = values_of(id);
        ids.push_back(id);
        lengths.push_back(values.size());
        items.insert(items.end(), values.begin(), values.end());
    }
    out.append(rows,
               std::vector<std::span<std::byte const>>{std::as_bytes(std::span(ids)), std::as_bytes(std::span(lengths)),
                                                       std::as_bytes(std::span(items))});
}

// All numbers, in the order of the file; each list is what it should be.
std::vector<std::uint64_t> ids_in(std::string const& path) {
    auto const reader = Reader::open(path);
    auto const rows = reader->rows(0);
    std::vector<std::uint64_t> ids(rows), lengths(rows);
    reader->read(0, 0, {0, rows}, std::as_writable_bytes(std::span(ids)));
    reader->read(0, 1, {0, rows}, std::as_writable_bytes(std::span(lengths)));
    auto const elements = reader->elements(0, 1, {0, rows});
    std::vector<std::uint16_t> items(elements.count);
    reader->read(0, 2, elements, std::as_writable_bytes(std::span(items)));
    auto at = items.begin();
    for (std::uint64_t row = 0; row < rows; ++row) {
        auto const values = values_of(ids[row]);
        bool const same = lengths[row] == values.size() && std::equal(values.begin(), values.end(), at);
        EXPECT_TRUE(same) << "row " << row;
        if (!same) break;
        at += static_cast<std::ptrdiff_t>(lengths[row]);
    }
    return ids;
}

std::size_t clusters_in(std::string const& path) {
    std::set<std::uint64_t> firsts;
    auto const reader = Reader::open(path);
    for (auto const& page : reader->tables()[0].columns[0].pages) firsts.insert(page.cluster);
    return firsts.size();
}

CreateOptions in_a_hurry() {
    CreateOptions options;
    options.commit.flush_interval_ns = 10'000'000;
    return options;
}

// Rows of two producers, slowly, until age has ended some clusters of both.
std::unique_ptr<Writer> recorded_slowly(std::string const& path) {
    auto writer = Writer::create(path, lists(), in_a_hurry());
    std::vector<Producer> producers;
    for (int i = 0; i < 2; ++i) producers.push_back(writer->producer("t"));
    auto const give_up_ns = base::monotonic_ns() + kTimeoutNs;
    std::uint64_t rows = 0;
    while (clusters_in(path) < kClusters && base::monotonic_ns() < give_up_ns) {
        for (int i = 0; i < 10; ++i) {
            append_lists(producers[0], 2 * rows, 70);
            append_lists(producers[1], 10'000'000 + 2 * rows, 50);
            rows += 100;
            base::sleep_ns(5'000'000);
        }
    }
    for (auto& producer : producers) producer.finish();
    return writer;
}

TEST(JoinedClusters, AreThoseThatSizeWouldHaveMade) {
    Directory const directory;
    auto const path = directory.file("run.root");
    auto const writer = recorded_slowly(path);
    ASSERT_GE(clusters_in(path), kClusters);
    auto const result = writer->close(kTimeoutNs);
    EXPECT_GE(result.report.joined_clusters, kClusters / 2);
    EXPECT_EQ(result.report.clusters_of_joined, 1u);
    EXPECT_GT(result.report.superseded_bytes, 0u);
    EXPECT_EQ(clusters_in(path), 1u);
    EXPECT_EQ(ids_in(path).size(), result.report.tables[0].rows);
    auto const verification = verify(path);
    EXPECT_EQ(verification.faults, 0u);
    EXPECT_EQ(verification.adler32, result.adler32);
}

TEST(JoinedClusters, AreNotThoseThatAreLargeEnough) {
    Directory const directory;
    auto const path = directory.file("run.root");
    CreateOptions options;
    options.layout.cluster_bytes = 64 << 10;
    auto const writer = Writer::create(path, pulses(64), options);
    auto producer = writer->producer("pulses");
    for (std::uint64_t row = 0; row < 60'000; row += 100) PulseRows(0, row, 100, 64).append_to(producer);
    producer.finish();
    auto const clusters = clusters_in(path);
    auto const result = writer->close(kTimeoutNs);
    EXPECT_GT(clusters_in(path), 5u);
    EXPECT_GE(clusters_in(path) + result.report.joined_clusters, clusters);
    EXPECT_LE(result.report.joined_clusters, 2u) << "a machine that stands still for a second ends one by age";
}

// What ROOT and uproot find in the open file.
std::uint64_t rows_shown(std::string const& path) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    try {
        return format_for(path).load(*file).tables[0].rows;
    } catch (base::DataError const&) {
        return 0; // there is no interim footer yet
    }
}

TEST(JoinedClusters, AProducerThatIsIdleShowsAllItsRows) {
    for (unsigned const threads : {0u, 2u}) {
        Directory const directory;
        auto const path = directory.file("run.root");
        auto options = in_a_hurry();
        options.write.seal_threads = threads;
        auto const writer = Writer::create(path, lists(), options);
        auto producer = writer->producer("t");
        append_lists(producer, 0, 100);
        auto const give_up_ns = base::monotonic_ns() + kTimeoutNs;
        while (rows_shown(path) < 100 && base::monotonic_ns() < give_up_ns) {
            producer.idle();
            base::sleep_ns(2'000'000);
        }
        EXPECT_EQ(rows_shown(path), 100u);
        append_lists(producer, 100, 11);
        producer.finish();
        writer->close(kTimeoutNs);
        EXPECT_EQ(ids_in(path).size(), 111u);
        EXPECT_EQ(clusters_in(path), 1u) << "the rest is joined with it";
    }
}

// A slow run that was never closed, as its journal has it.
class Unfinished {
  public:
    Unfinished() : path_(directory_.file("run.root")) {
        recorded_slowly(path_).reset();
        Journals journals;
        for (auto const& place : places_of_run(path_))
            journals.push_back(place.open_journal(storage::OpenMode::read_only));
        auto const file = storage::open_file_storage(path_, storage::OpenMode::read_only, storage::Engine::posix);
        gathered_ = gather(journals, *file, RunState::ended);
        gathered_.facts.end_offset = (gathered_.facts.end_offset + 4095) / 4096 * 4096;
        bytes_.resize(std::min(file->size(), gathered_.facts.end_offset));
        file->read(0, bytes_);
        for (auto const& pages : gathered_.facts.tables[0][0].columns) first_page_ = pages.front().offset;
    }

    std::uint64_t size() const { return bytes_.size(); }
    std::uint64_t first_page() const { return first_page_; }

    // On a storage that holds what the run left. Nothing where it could not be completed.
    std::optional<format::Completed> complete_on(storage::Storage& file) const {
        try {
            return format_for(path_).complete(file, *gathered_.rows, gathered_.head, gathered_.facts);
        } catch (base::SystemError const&) {
            return std::nullopt;
        }
    }
    std::unique_ptr<storage::FaultyStorage> copy(std::shared_ptr<storage::Faults> const& faults) const {
        auto file = std::make_unique<storage::FaultyStorage>(storage::make_memory_storage(path_), faults);
        file->write(0, bytes_);
        file->sync();
        return file;
    }
    // As a file that can be opened.
    std::string saved(storage::Storage const& file) const {
        auto const path = directory_.file("saved.root");
        std::vector<std::byte> bytes(file.size());
        file.read(0, bytes);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }

  private:
    Directory directory_;
    std::string path_;
    Gathered gathered_;
    std::vector<std::byte> bytes_;
    std::uint64_t first_page_ = 0;
};

constexpr std::uint64_t kOperationsOfCopy = 2;

TEST(JoinedClusters, KeepTheOrderOfRowsAndStayWhereTheDiskIsFull) {
    Unfinished const run;
    std::set<bool> joined;
    std::vector<std::uint64_t> ids;
    for (auto space = run.size(); joined.size() < 2; space += 8 << 10) {
        ASSERT_LT(space, run.size() + (8 << 20));
        storage::FaultPlan plan;
        plan.space_bytes = space;
        auto const file = run.copy(std::make_shared<storage::Faults>(plan));
        auto const completed = run.complete_on(*file);
        if (!completed) continue;
        joined.insert(completed->joined_clusters > 0);
        auto const path = run.saved(*file);
        EXPECT_EQ(clusters_in(path) < kClusters / 2, completed->joined_clusters > 0);
        auto const found = ids_in(path);
        if (ids.empty()) ids = found;
        EXPECT_EQ(found, ids);
    }
}

TEST(JoinedClusters, StayWhereAPageOfThemIsDamaged) {
    Unfinished const run;
    auto const file = run.copy(std::make_shared<storage::Faults>());
    std::byte damaged{};
    file->read(run.first_page(), std::span(&damaged, 1));
    damaged ^= std::byte{1};
    file->write(run.first_page(), std::span(&damaged, 1));
    auto const completed = run.complete_on(*file);
    ASSERT_TRUE(completed);
    EXPECT_EQ(completed->joined_clusters, 0u);
    EXPECT_EQ(verify(run.saved(*file)).faults, 1u) << "it is not encoded again as if it were right";
}

TEST(JoinedClusters, APowerCutWhileTheyAreMadeLeavesTheOldOnes) {
    Unfinished const run;
    auto const whole = run.copy(std::make_shared<storage::Faults>());
    ASSERT_GT(run.complete_on(*whole)->joined_clusters, 0u);
    auto const ids = ids_in(run.saved(*whole));
    for (double const survival : {0.0, 0.5, 1.0}) {
        std::uint64_t operation = 0;
        for (bool is_cut = true; is_cut; ++operation) {
            storage::FaultPlan plan;
            plan.power_cut_at = operation + kOperationsOfCopy;
            plan.seed = operation;
            plan.sector_survival_chance = survival;
            auto const faults = std::make_shared<storage::Faults>(plan);
            auto const file = run.copy(faults);
            run.complete_on(*file);
            is_cut = faults->power_is_off();
            auto const left = file->after_power_cut();
            ASSERT_TRUE(run.complete_on(*left)) << "the power was cut at operation " << operation;
            EXPECT_EQ(ids_in(run.saved(*left)), ids) << "the power was cut at operation " << operation;
        }
        EXPECT_GE(operation, 5u);
    }
}

} // namespace
} // namespace thalweg::dataset
