// Several nodes write one file. Here they are threads of one process, with memory of their own; tests/nodes has
// machines of their own, and kills.
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <sys/stat.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/region_gaps.h"
#include "thalweg/dataset/complete/snapshot.h"
#include "thalweg/dataset/creation.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRows = 700;
constexpr std::uint64_t kSoonNs = 500'000'000, kComeNs = 30'000'000'000;

CreateOptions options_for(std::uint32_t nodes, std::uint64_t timeout_ns = kComeNs) {
    auto options = small_run_options();
    options.layout.wide_codec = options.layout.narrow_codec = "none"; // which both containers have
    options.shared = true;
    options.nodes.nodes = nodes;
    options.nodes.timeout_ns = timeout_ns;
    return options;
}

JoinOptions joining(std::uint64_t timeout_ns = kComeNs) {
    JoinOptions options;
    options.timeout_ns = timeout_ns;
    return options;
}

using Writers = std::vector<std::unique_ptr<Writer>>;

Writers begin(std::string const& path, CreateOptions const& options, model::Schema const& schema = events()) {
    std::vector<std::future<std::unique_ptr<Writer>>> coming;
    coming.push_back(std::async(std::launch::async, [&] { return Writer::create(path, schema, options); }));
    for (std::uint32_t node = 1; node < options.nodes.nodes; ++node) {
        coming.push_back(std::async(std::launch::async, [&, node] { return Writer::join(path, node, joining()); }));
    }
    Writers writers;
    for (auto& each : coming) writers.push_back(each.get());
    return writers;
}

// All at once, as it has to be. What each was told, or what went wrong.
std::vector<std::string> close_all(Writers& writers, std::vector<CompleteResult>* results = nullptr) {
    std::vector<std::future<std::string>> closing;
    std::vector<CompleteResult> all(writers.size());
    for (std::size_t i = 0; i < writers.size(); ++i) {
        closing.push_back(std::async(std::launch::async,
                                     [&, i] { return message_of([&] { all[i] = writers[i]->close(kTimeoutNs); }); }));
    }
    std::vector<std::string> said;
    for (auto& each : closing) said.push_back(each.get());
    if (results != nullptr) *results = std::move(all);
    return said;
}

void append_on_all(Writers const& writers, std::uint64_t rows = kRows) {
    for (std::size_t i = 0; i < writers.size(); ++i) {
        auto producer = writers[i]->producer("events");
        append_events(producer, static_cast<std::uint8_t>(i), 0, rows);
        producer.finish();
    }
}

RowCounts rows_in(std::string const& path) {
    return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

RowCounts all_rows(std::size_t nodes) {
    RowCounts counts;
    for (std::size_t i = 0; i < nodes; ++i) counts[static_cast<std::uint8_t>(i)] = kRows;
    return counts;
}

// As its machine and its host would be called elsewhere.
void move_to_another_machine(RunPlace const& place) {
    auto const journal = place.open_journal(storage::OpenMode::read_write).main;
    auto preamble = require_start(*journal).preamble;
    std::strcpy(preamble.boot_id, "another boot");
    std::strcpy(preamble.host, "elsewhere");
    preamble.check = base::xxh3(std::as_bytes(std::span(&preamble, 1)).first(offsetof(JournalPreamble, check)));
    for (auto const offset : kPreambleOffsets) journal->write(offset, std::as_bytes(std::span(&preamble, 1)));
}

TEST(RegionPlan, RegionsLieOneBehindTheOtherAndDouble) {
    RegionPlan const plan(10'000, 3, base::kMiB, 256 * base::kMiB);
    EXPECT_EQ(plan.region(0), (Region{0, 12'288, 16 * base::kMiB}));
    auto end = plan.region(0).end;
    for (std::uint32_t number = 1; number < 100; ++number) {
        auto const region = plan.region(number);
        EXPECT_EQ(region.begin, end);
        EXPECT_EQ(region.end - region.begin,
                  std::min(std::uint64_t{16} << number / 3, std::uint64_t{256}) * base::kMiB);
        end = region.end;
    }
}

TEST(RegionPlan, EveryExtentFitsIntoTheSmallest) {
    RegionPlan const plan(100 * base::kMiB, 2, 40 * base::kMiB, 4 * base::kMiB);
    EXPECT_EQ(plan.region(5).end - plan.region(5).begin, 256 * base::kMiB);
    EXPECT_EQ(plan.region(0).begin, 100 * base::kMiB); // nothing lies in front of the first offset
    RegionPlan const late(20 * base::kMiB, 1, base::kMiB, 16 * base::kMiB);
    EXPECT_EQ(late.region(0).begin, late.region(0).end);
}

class Nodes : public ::testing::TestWithParam<char const*> {
  protected:
    Directory const directory_;
    std::string const path_ = directory_.file(GetParam());
    PartsFolder const parts_{path_};
};

INSTANTIATE_TEST_SUITE_P(Containers, Nodes, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST_P(Nodes, WriteOneFile) {
    auto writers = begin(path_, options_for(3));
    append_on_all(writers);
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(3));
    EXPECT_EQ(verify(path_).faults, 0);
    EXPECT_FALSE(exists(parts_.path()));
    for (auto const& result : results) EXPECT_EQ(result.report.tables.at(0).rows, 3 * kRows);
    EXPECT_EQ(results[0].report.nodes.size(), 3);
    EXPECT_EQ(results[0].report.nodes[1].rows, kRows);
    for (auto const& writer : writers) EXPECT_TRUE(base::SharedMemory::list(writer->handle()).empty());
}

TEST_P(Nodes, AreReadWhileTheyWrite) {
    auto writers = begin(path_, options_for(2));
    std::vector<Producer> producers;
    for (auto& writer : writers) producers.push_back(writer->producer("events"));
    for (std::uint8_t i = 0; i < 2; ++i) append_events(producers[i], i, 0, kRows);
    while (Reader::open(path_)->rows(0) < 2 * kRows) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto const out = directory_.file(std::string("snapshot-") + GetParam());
    snapshot(path_, out);
    EXPECT_EQ(rows_in(out), all_rows(2));
    for (auto& producer : producers) producer.finish();
    close_all(writers);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, AttachAtTheirOwn) {
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        auto producer = Producer(attach(writers[i]->handle()), 0);
        append_events(producer, i, 0, kRows);
        producer.finish();
    }
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, WhatTheyLeaveIsRecovered) {
    {
        auto writers = begin(path_, options_for(3));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    auto const result = recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(3));
    EXPECT_EQ(verify(path_).faults, 0);
    EXPECT_FALSE(result.report.rows_may_be_missing) << fmt::format("{}", fmt::join(result.report.notes, "; "));
    EXPECT_FALSE(exists(parts_.path()));
}

TEST_P(Nodes, OneThatFailsIsHeardByAll) {
    auto writers = begin(path_, options_for(3));
    append_on_all(writers);
    writers[1]->abandon();
    auto const said = message_of([&] { writers[0]->close(kTimeoutNs); });
    EXPECT_NE(said.find("node 2"), std::string::npos) << said;
    EXPECT_NE(message_of([&] { writers[2]->close(kTimeoutNs); }), "");
    writers.clear();
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(3));
}

TEST_P(Nodes, AreNotRecoveredWhileOneMayLive) {
    {
        auto writers = begin(path_, options_for(2));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    move_to_another_machine({path_, {1, 2}});
    for (auto const& said : {message_of([&] { recover(path_); }), message_of([&] { clear_place(path_, true); })}) {
        EXPECT_NE(said.find("node 2 on elsewhere"), std::string::npos) << said;
        EXPECT_NE(said.find("--all-nodes-are-down"), std::string::npos) << said;
    }
    recover(path_, {.all_nodes_are_down = true});
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, AJournalThatIsMissingIsSaid) {
    {
        auto writers = begin(path_, options_for(3));
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    std::filesystem::remove(parts_.journal(1));
    auto const report = recover(path_).report;
    EXPECT_TRUE(report.rows_may_be_missing);
    EXPECT_NE(fmt::format("{}", fmt::join(report.notes, "; ")).find("node 2 has no journal"), std::string::npos);
    EXPECT_EQ(rows_in(path_), (RowCounts{{0, kRows}, {2, kRows}}));
}

TEST_P(Nodes, ThatDoNotComeAreNamed) {
    auto const creating = std::async(std::launch::async, [&] {
        return message_of([&] { Writer::create(path_, events(), options_for(4, 4 * kSoonNs)); });
    });
    auto const joined = std::async(std::launch::async,
                                   [&] { return message_of([&] { Writer::join(path_, 2, joining(4 * kSoonNs)); }); });
    auto const said = const_cast<std::future<std::string>&>(creating).get();
    EXPECT_NE(said.find("node 2, node 4 did not come"), std::string::npos) << said;
    EXPECT_NE(const_cast<std::future<std::string>&>(joined).get(), "");
    EXPECT_FALSE(exists(path_));
    EXPECT_FALSE(exists(parts_.path()));
}

TEST_P(Nodes, ThatDisagreeAreToldByAll) {
    auto other = events();
    other.tables[0].fields[0].name = "another";
    for (auto const& options : std::vector<std::function<void(JoinOptions&)>>{
             [](JoinOptions& join) { join.nodes = 3; }, [&](JoinOptions& join) { join.schema = other; }}) {
        auto creating = std::async(
            std::launch::async, [&] { return message_of([&] { Writer::create(path_, events(), options_for(2)); }); });
        auto join = joining();
        options(join);
        auto const said = message_of([&] { Writer::join(path_, 1, join); });
        EXPECT_NE(said.find("node 1"), std::string::npos) << said;
        auto const heard = creating.get();
        EXPECT_NE(heard.find("node 2"), std::string::npos) << heard;
        EXPECT_FALSE(exists(parts_.path()));
    }
}

TEST_P(Nodes, ANodeJoinsOnce) {
    auto writers = begin(path_, options_for(2));
    for (std::uint32_t node : {1u, 0u, 2u})
        EXPECT_NE(message_of([&] { Writer::join(path_, node, joining(kSoonNs)); }), "");
    append_on_all(writers);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
    EXPECT_NE(message_of([&] { Writer::join(path_, 1, joining(kSoonNs)); }), "");
}

TEST_P(Nodes, WhatIsNotPossibleYetIsRefused) {
    auto ordered = options_for(2);
    ordered.keys_per_group = 10;
    EXPECT_NE(message_of([&] { Writer::create(path_, events(), ordered); }), "");
    EXPECT_NE(message_of([&] { Writer::create(path_, events(), options_for(kMostNodes + 1)); }), "");
    {
        auto writers = begin(path_, options_for(2));
        EXPECT_NE(message_of([&] { writers[0]->create_next(directory_.file("next.h5"), options_for(1)); }), "");
        append_on_all(writers);
        for (auto& writer : writers) writer->abandon();
    }
    auto const said = message_of([&] { Writer::resume(path_, {}, {}); });
    EXPECT_NE(said.find("several nodes"), std::string::npos) << said;
    recover(path_);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

TEST_P(Nodes, AUnitThatTwoCommitCountsOnce) {
    auto writers = begin(path_, options_for(2));
    for (std::uint8_t i = 0; i < 2; ++i) {
        auto own = writers[i]->work_unit(100 + i);
        append_events(own["events"], i, 0, 10);
        own.commit();
        auto unit = writers[i]->work_unit(7);
        append_events(unit["events"], i, 10, 10);
        unit.commit();
    }
    std::vector<CompleteResult> results;
    for (auto const& said : close_all(writers, &results)) EXPECT_EQ(said, "");
    EXPECT_EQ(results[0].report.units, 3);
    EXPECT_EQ(results[0].report.tables[0].rows, 30);
    EXPECT_NE(fmt::format("{}", fmt::join(results[0].report.notes, "; ")).find("work unit 7"), std::string::npos);
    auto const reader = Reader::open(path_);
    for (auto const& unit : reader->units()) EXPECT_EQ(unit.ranges.at(0).rows, 10);
}

TEST_P(Nodes, ABeginningThatNobodyWentOnFromIsClearedAway) {
    parts_.make();
    auto writers = begin(path_, options_for(2));
    append_on_all(writers);
    close_all(writers);
    EXPECT_EQ(rows_in(path_), all_rows(2));
    parts_.make(); // as one leaves it that dies while it removes the folder
    std::filesystem::create_directory(parts_.path());
    storage::open_file_storage(parts_.journal(1), storage::OpenMode::create_new)
        ->write(0, std::vector<std::byte>(9000));
    EXPECT_EQ(Reader::open(path_)->rows(0), 2 * kRows);
    EXPECT_NE(message_of([&] { recover(path_); }), "");
    EXPECT_FALSE(exists(parts_.path()));
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

// Rows of 8 KiB, in many regions.
class Regions : public Nodes {};

INSTANTIATE_TEST_SUITE_P(Containers, Regions, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

// As TFile::Map walks: from key to key, past gaps, whose size is negative.
void expect_chain(std::string const& path) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    std::uint64_t offset = 100;
    while (offset < file->size()) {
        std::array<std::byte, 4> bytes;
        file->read(offset, bytes);
        std::uint32_t number = 0;
        for (auto const byte : bytes) number = number << 8 | std::to_integer<std::uint32_t>(byte);
        auto const size = static_cast<std::int32_t>(number);
        ASSERT_NE(size, 0) << "at " << offset;
        offset += static_cast<std::uint64_t>(std::abs(size));
    }
    EXPECT_EQ(offset, file->size());
}

TEST_P(Regions, ThatAreNotFilledAreMarkedAndCostNoBlocks) {
    constexpr std::uint64_t kSamples = 4096;
    auto options = options_for(3);
    options.layout = {64 << 10, 64 << 10, 4 << 20, 4 << 20, "none", "none"};
    options.write.extent_bytes = 256 << 10;
    options.write.staging = {256 << 10, 3, 64, 4 << 20};
    options.commit.flush_interval_ns = 20'000'000;
    options.commit.allocate_ahead_bytes = 8 << 20;
    auto writers = begin(path_, options, pulses(kSamples));
    std::vector<std::future<void>> appending;
    constexpr std::uint64_t kRowsOf[] = {4000, 2500, 10};
    for (std::uint8_t i = 0; i < 3; ++i) {
        appending.push_back(std::async(std::launch::async, [&, i] {
            auto producer = writers[i]->producer("pulses");
            for (std::uint64_t row = 0; row < kRowsOf[i]; row += 10)
                PulseRows(i, row, 10, kSamples).append_to(producer);
            producer.finish();
        }));
    }
    for (auto& each : appending) each.get();
    EXPECT_GE(parts_.regions().size(), 7);
    for (auto const& said : close_all(writers)) EXPECT_EQ(said, "");
    EXPECT_EQ(verify(path_).faults, 0);
    auto const reader = Reader::open(path_);
    std::vector<std::uint8_t> producers(6510);
    std::vector<std::uint64_t> ids(6510);
    std::vector<std::uint16_t> waveforms(6510 * kSamples);
    reader->read(0, 0, {0, 6510}, std::as_writable_bytes(std::span(producers)));
    reader->read(0, 1, {0, 6510}, std::as_writable_bytes(std::span(ids)));
    reader->read(0, 2, {0, 6510}, std::as_writable_bytes(std::span(waveforms)));
    std::map<std::uint8_t, std::uint64_t> next;
    for (std::size_t row = 0; row < 6510; ++row) {
        ASSERT_EQ(ids[row], next[producers[row]]++);
        ASSERT_EQ(waveforms[row * kSamples + 77], sample(producers[row], ids[row], 77));
        ASSERT_EQ(waveforms[row * kSamples + 4095], sample(producers[row], ids[row], 4095));
    }
    for (std::uint8_t i = 0; i < 3; ++i) EXPECT_EQ(next[i], kRowsOf[i]);
    struct stat status {};
    ::stat(path_.c_str(), &status);
    EXPECT_LE(static_cast<std::uint64_t>(status.st_blocks) * 512, 6510 * (kSamples * 2 + 9) * 103 / 100);
    if (path_.ends_with(".root")) expect_chain(path_);
}

TEST(RegionGaps, BehindWhatIsKnownOfANodeThatDied) {
    RegionPlan const plan(4096, 2, base::kMiB, 16 * base::kMiB);
    model::RunFacts facts;
    model::Page page{};
    page.offset = 16 * base::kMiB + 8192;
    page.stored_bytes = 100;
    facts.tables = {{{0, {{page}}, {}, {}}}};
    facts.end_offset = 50 * base::kMiB;
    EXPECT_EQ(gaps_of(plan, {{0, base::kMiB, true}, {1, 16 * base::kMiB, false}, {2, 40 * base::kMiB, true}}, facts),
              (std::vector<Gap>{{base::kMiB, 16 * base::kMiB},
                                {16 * base::kMiB + 12288, 32 * base::kMiB},
                                {40 * base::kMiB, 50 * base::kMiB}}));
    // Whose record is lost: its pages stay.
    EXPECT_EQ(gaps_of(plan, {{0, 16 * base::kMiB, true}, {2, 50 * base::kMiB, true}}, facts),
              (std::vector<Gap>{{16 * base::kMiB + 12288, 32 * base::kMiB}, {48 * base::kMiB, 50 * base::kMiB}}));
}

} // namespace
} // namespace thalweg::dataset
