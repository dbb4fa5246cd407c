// A power cut at every operation of a run, of its close and of its recovery; every write and every sync failing once;
// a disk that fills up anywhere.
#include "thalweg/dataset/test_bad_day.h"

#include <array>
#include <fmt/format.h>

#include "thalweg/dataset/file_checksum.h"
#include "thalweg/format/hdf5/header.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using format::hdf5::has_superblock;
using format::hdf5::hdf5_format;
using storage::FaultPlan;
using storage::Storage;

struct Disk {
    std::shared_ptr<Storage> file;
    std::shared_ptr<Storage> journal;
};

Disk after_power_cut(BadDay const& day) { return {day.file->after_power_cut(), day.journal->after_power_cut()}; }

Disk as_it_is(BadDay const& day) {
    Disk disk{storage::make_memory_storage("run.h5"), storage::make_memory_storage("run.h5.journal")};
    storage::copy_storage(*day.file, *disk.file);
    storage::copy_storage(*day.journal, *disk.journal);
    return disk;
}

// Killed before the run had begun: nothing can have been promised.
bool has_begun(Storage const& journal) {
    try {
        read_head(journal);
        return true;
    } catch (base::DataError const&) {
        return false;
    }
}

void expect_at_least(RowCounts const& there, RowCounts const& promised) {
    for (auto const& [who, rows] : promised) {
        EXPECT_GE(there.contains(who) ? there.at(who) : 0, rows) << "producer " << int{who};
    }
}

// Of how the run ended for those who wrote it.
void expect_honest(BadDay const& day) {
    if (day.closed) {
        EXPECT_TRUE(has_superblock(*day.file));
        auto const there = expect_right(*day.file);
        expect_at_least(there, day.published); // an append that failed may have published a part of its rows
        EXPECT_TRUE(there == day.published || !day.errors.empty());
    } else {
        EXPECT_FALSE(day.errors.empty());
    }
}

CompleteResult complete(Disk const& disk) { return complete_run(*disk.file, disk.journal, hdf5_format(), {}); }

// Of what a bad day left on the disk.
void expect_recoverable(Disk const& disk, RowCounts const& promised) {
    if (!has_begun(*disk.journal)) {
        EXPECT_FALSE(has_superblock(*disk.file));
        EXPECT_TRUE(promised.empty());
        return;
    }
    if (has_superblock(*disk.file)) expect_at_least(expect_right(*disk.file), promised); // whatever opens is right
    auto const result = complete(disk);
    SCOPED_TRACE(fmt::format("{}", fmt::join(result.report.notes, "\n")));
    auto const there = expect_right(*disk.file);
    expect_at_least(there, promised);
    std::uint64_t rows = 0;
    for (auto const& [who, count] : there) rows += count;
    EXPECT_EQ(result.report.tables[0].rows, rows);
    EXPECT_EQ(file_adler32(*disk.file, {}), result.adler32);
}

TEST(BadDay, AGoodOneIsRight) {
    BadDay const day({});
    EXPECT_TRUE(day.errors.empty()) << day.errors[0];
    EXPECT_TRUE(day.closed);
    expect_honest(day);
    EXPECT_EQ(day.published, (RowCounts{{0, BadDay::kRows}, {1, BadDay::kRows}}));
}

TEST(BadDay, APowerCutAnywhereLosesAtMostWhatCameAfterTheLastBarrier) {
    std::uint64_t with_promise = 0, finished = 0;
    for (std::uint64_t cut = 0; finished < 5; ++cut) { // the number of operations differs from run to run
        SCOPED_TRACE(cut);
        FaultPlan plan;
        plan.seed = cut;
        plan.power_cut_at = cut;
        plan.sector_survival_chance = std::array{0.0, 0.5, 1.0, 0.9}[cut % 4];
        plan.short_write_chance = cut % 3 == 0 ? 0.2 : 0;
        BadDay const day(plan, cut % 5 == 4 ? 1 : 0);
        auto const disk = after_power_cut(day);
        if (!day.power_is_off()) ++finished;
        EXPECT_TRUE(!day.closed || has_superblock(*disk.file));
        auto const promised = day.closed                 ? day.published
                              : has_begun(*disk.journal) ? rows_before_barrier(*disk.journal, *disk.file)
                                                         : RowCounts{};
        if (!promised.empty()) ++with_promise;
        expect_recoverable(disk, promised);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(with_promise, 20u);
}

// The journal of a run that was cut off in the middle, with rows in pages and rows in none.
Disk cut_off() {
    FaultPlan plan;
    plan.power_cut_at = 90;
    plan.sector_survival_chance = 1;
    return after_power_cut(BadDay(plan));
}

TEST(BadDay, APowerCutAnywhereInRecoverIsRecovered) {
    auto const before = cut_off();
    auto const promised = rows_before_barrier(*before.journal, *before.file);
    ASSERT_FALSE(promised.empty());
    for (std::uint64_t cut = 0;; ++cut) {
        SCOPED_TRACE(cut);
        FaultPlan plan;
        plan.seed = cut;
        plan.power_cut_at = cut / 3;
        plan.sector_survival_chance = 0.5 * static_cast<double>(cut % 3);
        auto const faults = std::make_shared<storage::Faults>(plan);
        auto const copy = [&](Storage const& from) {
            auto to = storage::make_memory_storage(from.path());
            storage::copy_storage(from, *to);
            return std::make_shared<storage::FaultyStorage>(std::move(to), faults);
        };
        auto const file = copy(*before.file), journal = copy(*before.journal);
        try {
            complete({file, journal});
        } catch (base::SystemError const&) {
            EXPECT_TRUE(faults->power_is_off());
        }
        expect_recoverable({file->after_power_cut(), journal->after_power_cut()}, promised);
        ASSERT_FALSE(HasFailure());
        if (!faults->power_is_off()) break;
    }
}

TEST(BadDay, AnyWriteMayFail) {
    auto const writes = BadDay({}).counts().writes;
    for (std::uint64_t number = 0; number < writes; ++number) {
        SCOPED_TRACE(number);
        FaultPlan plan;
        plan.fail_write = number;
        BadDay const day(plan);
        expect_honest(day);
        auto const disk = as_it_is(day);
        auto const begun = has_begun(*disk.journal);
        expect_recoverable(disk, begun ? rows_before_barrier(*disk.journal, *disk.file) : RowCounts{});
        for (auto const& error : day.errors) EXPECT_NE(error.find("Input/output error"), std::string::npos) << error;
        ASSERT_FALSE(HasFailure());
    }
}

TEST(BadDay, AnySyncMayFail) {
    auto const syncs = BadDay({}).counts().syncs;
    for (std::uint64_t number = 0; number < syncs; ++number) {
        SCOPED_TRACE(number);
        FaultPlan plan;
        plan.fail_sync = number;
        BadDay const day(plan);
        expect_honest(day);
        auto const disk = as_it_is(day);
        expect_recoverable(disk,
                           has_begun(*disk.journal) ? rows_before_barrier(*disk.journal, *disk.file) : RowCounts{});
        ASSERT_FALSE(HasFailure());
    }
}

// On a full disk the run takes no more rows, and is closed with what it has.
TEST(BadDay, TheDiskMayBeFullAnywhere) {
    auto const needed = [] {
        BadDay const day({});
        return day.file->size() + (32 << 20); // and what is reserved ahead
    }();
    std::uint64_t refused_and_closed = 0;
    for (std::uint64_t space = 0; space < needed; space += needed / 97) {
        SCOPED_TRACE(space);
        FaultPlan plan;
        plan.space_bytes = space;
        BadDay const day(plan);
        expect_honest(day);
        for (auto const& error : day.errors) EXPECT_NE(error.find("No space left"), std::string::npos) << error;
        if (day.closed && !day.errors.empty()) ++refused_and_closed;
        auto const disk = as_it_is(day);
        expect_recoverable(disk,
                           has_begun(*disk.journal) ? rows_before_barrier(*disk.journal, *disk.file) : RowCounts{});
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(refused_and_closed, 0u);
}

} // namespace
} // namespace thalweg::dataset
