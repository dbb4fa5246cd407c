// What the file of an open run shows from the superblock at 512 on.
#include <gtest/gtest.h>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/reader/load_here.h"
#include "thalweg/storage/test_faulty.h"

namespace thalweg::format::hdf5::files {
namespace {

// As it is while the run is open.
model::RunFacts open_facts(TestRun const& run) {
    auto facts = run.facts;
    facts.open_note = "This run was still open.";
    return facts;
}

void show(storage::Storage& file, TestRun const& run) {
    hdf5_format().complete(file, *run.journal, run.head, open_facts(run));
}

void expect_right(model::RunMap const& map, storage::Storage const& file, TestRun const& run) {
    for (std::size_t c = 0; c < run.head.columns[0].size(); ++c)
        EXPECT_EQ(TestRun::read(map, file, 0, c), run.expected(0, c));
}

std::unique_ptr<storage::Storage> copy_of(storage::Storage const& file) {
    auto copy = storage::make_memory_storage(file.path());
    copy->write(0, contents(file));
    return copy;
}

TEST(Hdf5Interim, ShowsAllRowsAndIsNotComplete) {
    auto run = pulses_and_hits(1);
    show(*run.file, run);
    EXPECT_FALSE(ours::has_superblock(*run.file));
    auto const map = hdf5_format().load(*run.file);
    EXPECT_FALSE(map.closed);
    expect_right(map, *run.file, run);
    EXPECT_EQ(hdf5_format().end_of_readable(*run.file, run.head), run.file->size());
}

// Every page is compared with where libhdf5 itself finds it.
TEST(Hdf5Interim, TheIndexesOfHdf5NameTheSamePages) {
    auto run = pulses_and_hits(2);
    show(*run.file, run);
    auto const map = reader::load_here(*run.file, false);
    expect_right(map, *run.file, run);
    EXPECT_TRUE(map.left_out.empty());
}

TEST(Hdf5Interim, TheCompleteFileIsTheSameWithAndWithoutIt) {
    auto run = pulses_and_hits(3);
    auto const room_end = [&] {
        auto const file = copy_of(*run.file);
        show(*file, run);
        return base::round_up(file->size(), base::kBlockBytes);
    }();
    auto const with = copy_of(*run.file), without = copy_of(*run.file);
    show(*with, run);
    run.facts.end_offset = room_end;
    for (auto* const file : {with.get(), without.get()})
        hdf5_format().complete(*file, *run.journal, run.head, run.facts);
    auto there = contents(*with), right = contents(*without);
    ASSERT_EQ(there.size(), right.size());
    EXPECT_FALSE(std::equal(there.begin() + 512, there.begin() + 1024, right.begin() + 512)); // dataset clears it
    std::fill(there.begin() + 512, there.begin() + 1024, std::byte{});
    auto const begin = static_cast<std::ptrdiff_t>(room_end);
    EXPECT_TRUE(std::equal(there.begin(), there.begin() + base::kBlockBytes, right.begin()));
    EXPECT_TRUE(std::equal(there.begin() + begin, there.end(), right.begin() + begin));
}

TEST(Hdf5Interim, WhatIsDamagedIsRefused) {
    auto run = pulses_and_hits(4);
    show(*run.file, run);
    auto const end = run.file->size();
    std::vector<std::uint64_t> places;
    for (std::uint64_t at = 512; at < 512 + 48; ++at) places.push_back(at);
    for (std::uint64_t at = 768; at < 768 + 32; ++at) places.push_back(at);
    for (auto at = end - 4096; at < end; at += 97) places.push_back(at); // metadata come last
    for (auto const at : places) {
        auto const damaged = copy_of(*run.file);
        std::byte byte{};
        damaged->read(at, {&byte, 1});
        byte ^= std::byte{0x10};
        damaged->write(at, {&byte, 1});
        EXPECT_THROW(hdf5_format().load(*damaged), base::DataError) << "byte " << at;
    }
}

// Its pages lie behind the first interim metadata. What opens is these, or the next ones.
TEST(Hdf5Interim, APowerCutLeavesTheLastOneOrTheNext) {
    auto run = pulses_and_hits(5);
    show(*run.file, run);
    auto const first = hdf5_format().load(*run.file).tables[0].rows;
    run.facts.end_offset = base::round_up(run.file->size(), base::kBlockBytes);
    run.add_part(0, 200);
    std::set<std::uint64_t> shown;
    bool is_over = false;
    for (std::uint64_t operation = 0; !is_over; ++operation) {
        for (double const survival : {0.0, 0.5, 1.0}) {
            storage::FaultPlan plan;
            plan.power_cut_at = operation + 2;
            plan.seed = operation;
            plan.sector_survival_chance = survival;
            auto const faults = std::make_shared<storage::Faults>(plan);
            storage::FaultyStorage faulty(storage::make_memory_storage("run.h5"), faults);
            faulty.write(0, contents(*run.file));
            faulty.sync();
            try {
                show(faulty, run);
            } catch (base::SystemError const&) {
            }
            is_over = !faults->power_is_off();
            shown.insert(hdf5_format().load(*faulty.after_power_cut()).tables[0].rows);
        }
    }
    EXPECT_EQ(shown, (std::set<std::uint64_t>{first, first + 200}));
}

} // namespace
} // namespace thalweg::format::hdf5::files
