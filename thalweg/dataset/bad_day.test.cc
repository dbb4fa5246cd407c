// A power cut at every operation of a run, of its close and of its recovery; every write and every sync failing once;
// a disk that fills up anywhere.
#include "thalweg/dataset/test_bad_day.h"

#include <array>
#include <fmt/format.h>
#include <optional>

#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/writing/file_parts.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using storage::FaultPlan;
using storage::Storage;

struct Disk {
    std::shared_ptr<Storage> file;
    JournalFiles journal;
};

Disk after_power_cut(BadDay const& day) {
    return {day.file->after_power_cut(), {day.journal->after_power_cut(), day.segments->after_power_cut()}};
}

Disk as_it_is(BadDay const& day) { return {copy_of_storage(*day.file), copy_of_journal({day.journal, day.segments})}; }

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

// Cut off in the middle, with rows in pages and rows in none. Tried until a BARRIER came before that: how many of them
// there are in a run, and when, is a matter of time, and so of what else the machine does.
std::unique_ptr<BadDay> cut_in_the_middle(Container const& container) {
    for (int i = 0; i < 200; ++i) {
        FaultPlan plan;
        plan.power_cut_at = BadDay(container, {}).operations() / 2;
        plan.sector_survival_chance = 1;
        auto day = std::make_unique<BadDay>(container, plan);
        auto const disk = after_power_cut(*day);
        if (day->power_is_off() && has_begun(*disk.journal.main) &&
            !rows_before_barrier(disk.journal, *disk.file).empty())
            return day;
    }
    base::fail_usage({"no run has a BARRIER in its first half"});
}

class AnyContainer : public ::testing::TestWithParam<Container> {
  protected:
    Container const& container() const { return GetParam(); }

    CompleteResult complete(Disk const& disk) const {
        return complete_run(*disk.file, disk.journal, container().format, {});
    }

    // What the last BARRIER covers of the appends that returned. It may cover more: where a write fails while the last
    // column of a row is copied, the row is whole, and the append that threw has not published it.
    RowCounts promised_by(Disk const& disk, BadDay const& day) const {
        if (!has_begun(*disk.journal.main)) return {};
        auto promised = rows_before_barrier(disk.journal, *disk.file);
        for (auto& [who, rows] : promised)
            rows = std::min(rows, day.published.contains(who) ? day.published.at(who) : 0);
        return promised;
    }

    // Checks what its writers were told about the end of the run.
    void expect_honest(BadDay const& day) const {
        if (day.closed) {
            EXPECT_TRUE(container().is_complete(*day.file));
            auto const there = expect_right(*day.file);
            expect_at_least(there, day.published); // an append that failed may have published a part of its rows
            EXPECT_TRUE(there == day.published || !day.errors.empty());
        } else {
            EXPECT_FALSE(day.errors.empty());
        }
    }

    // What opens is right, and what says that it is complete has all. Returns what other programs see.
    RowCounts expect_right_as_it_is(Disk const& disk, RowCounts const& promised) {
        bool const complete = container().is_complete(*disk.file);
        if (!container().opens(*disk.file)) return {};
        EXPECT_EQ(container().format.load(*disk.file).closed, complete);
        auto const there = expect_right(*disk.file);
        if (complete) expect_at_least(there, promised);
        if (!complete && !there.empty()) ++with_interim_metadata_;
        return there;
    }

    // Checks that what a bad day left on the disk can be recovered.
    void expect_recoverable(Disk const& disk, RowCounts const& promised) {
        if (!has_begun(*disk.journal.main)) {
            EXPECT_TRUE(container().opens_early || !container().is_complete(*disk.file));
            EXPECT_TRUE(promised.empty());
            return;
        }
        // Until the first BARRIER what the file begins with may be lost: who completes it writes it again.
        auto const shown = promised.empty() ? RowCounts{} : expect_right_as_it_is(disk, promised);
        auto const result = complete(disk);
        SCOPED_TRACE(fmt::format("{}", fmt::join(result.report.notes, "\n")));
        EXPECT_TRUE(container().is_complete(*disk.file));
        auto const there = expect_right(*disk.file);
        expect_at_least(there, promised);
        expect_at_least(there, shown);
        std::uint64_t rows = 0;
        for (auto const& [who, count] : there) rows += count;
        EXPECT_EQ(result.report.tables[0].rows, rows);
        EXPECT_EQ(file_adler32(*disk.file, {}), result.adler32);
    }

    void try_recover_with_power_cuts(Disk const& before, RowCounts const& promised);

    std::uint64_t with_interim_metadata_ = 0; // how often an unfinished file had rows to show
};

INSTANTIATE_TEST_SUITE_P(BadDay, AnyContainer, ::testing::Values(hdf5_container(), rntuple_container()),
                         [](auto const& each) { return each.param.opens_early ? "rntuple" : "hdf5"; });

TEST_P(AnyContainer, AGoodDayIsRight) {
    BadDay const day(container(), {});
    EXPECT_TRUE(day.errors.empty()) << day.errors[0];
    EXPECT_TRUE(day.closed);
    expect_honest(day);
    EXPECT_EQ(day.published, (RowCounts{{0, BadDay::kRows}, {1, BadDay::kRows}}));
}

TEST_P(AnyContainer, APowerCutAnywhereLosesAtMostWhatCameAfterTheLastBarrier) {
    std::uint64_t with_promise = 0, finished = 0;
    for (std::uint64_t cut = 0; finished < 5; ++cut) { // the number of operations differs from run to run
        SCOPED_TRACE(cut);
        FaultPlan plan;
        plan.seed = cut;
        plan.power_cut_at = cut;
        plan.sector_survival_chance = std::array{0.0, 0.5, 1.0, 0.9}[cut % 4];
        plan.short_write_chance = cut % 3 == 0 ? 0.2 : 0;
        BadDay const day(container(), plan, cut % 5 == 4 ? 1 : 0);
        auto const disk = after_power_cut(day);
        if (!day.power_is_off()) ++finished;
        EXPECT_TRUE(!day.closed || container().is_complete(*disk.file));
        auto const promised = day.closed ? day.published : promised_by(disk, day);
        if (!promised.empty()) ++with_promise;
        expect_recoverable(disk, promised);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(with_promise, 20u);
    EXPECT_GT(with_interim_metadata_, 0u); // how many of them is a matter of time
}

void AnyContainer::try_recover_with_power_cuts(Disk const& before, RowCounts const& promised) {
    ASSERT_FALSE(promised.empty());
    constexpr std::array kSurvival{0.0, 0.5, 0.5, 0.5, 0.5, 1.0};
    for (std::uint64_t cut = 0;; ++cut) {
        SCOPED_TRACE(cut);
        FaultPlan plan;
        plan.seed = cut;
        plan.power_cut_at = cut / kSurvival.size();
        plan.sector_survival_chance = kSurvival[cut % kSurvival.size()];
        auto const faults = std::make_shared<storage::Faults>(plan);
        auto const copy = [&](Storage const& from) {
            auto to = storage::make_memory_storage(from.path());
            storage::copy_storage(from, *to);
            return std::make_shared<storage::FaultyStorage>(std::move(to), faults);
        };
        auto const file = copy(*before.file), journal = copy(*before.journal.main);
        try {
            complete({file, {journal, before.journal.segments}});
        } catch (base::SystemError const&) {
            EXPECT_TRUE(faults->power_is_off());
        }
        Disk const after{file->after_power_cut(), {journal->after_power_cut(), before.journal.segments}};
        // Otherwise `recover` would not take the two for a pair.
        EXPECT_EQ(container().format.run_id_of(*after.file), read_head(*after.journal.main).id);
        expect_recoverable(after, promised);
        ASSERT_FALSE(HasFailure());
        if (!faults->power_is_off()) return;
    }
}

TEST_P(AnyContainer, APowerCutAnywhereInRecoverIsRecovered) {
    auto const day = cut_in_the_middle(container());
    auto const disk = after_power_cut(*day);
    try_recover_with_power_cuts(disk, promised_by(disk, *day));
}

TEST_P(AnyContainer, APowerCutAnywhereInTheRecoveryOfWhatIsNearlyClosed) {
    std::optional<BadDay> day;
    do { // one in which something was durable before the end, which is a matter of time
        day.emplace(container(), FaultPlan{});
    } while (promised_by(as_it_is(*day), *day).empty());
    auto const disk = as_it_is(*day);
    std::uint64_t end = 0; // of the journal without its CLOSED record
    read_journal(disk.journal, [&](JournalRecord const& record) {
        if (record.type != RecordType::closed) end = record.end_offset;
        return true;
    });
    disk.journal.main->resize(end);
    try_recover_with_power_cuts(disk, promised_by(disk, *day));
}

TEST_P(AnyContainer, AnyWriteMayFail) {
    auto const writes = BadDay(container(), {}).counts().writes;
    for (std::uint64_t number = 0; number < writes; ++number) {
        SCOPED_TRACE(number);
        FaultPlan plan;
        plan.fail_write = number;
        BadDay const day(container(), plan);
        expect_honest(day);
        auto const disk = as_it_is(day);
        expect_recoverable(disk, promised_by(disk, day));
        for (auto const& error : day.errors) EXPECT_NE(error.find("Input/output error"), std::string::npos) << error;
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(AnyContainer, AnySyncMayFail) {
    auto const syncs = BadDay(container(), {}).counts().syncs;
    for (std::uint64_t number = 0; number < syncs; ++number) {
        SCOPED_TRACE(number);
        FaultPlan plan;
        plan.fail_sync = number;
        BadDay const day(container(), plan);
        expect_honest(day);
        auto const disk = as_it_is(day);
        expect_recoverable(disk, promised_by(disk, day));
        ASSERT_FALSE(HasFailure());
    }
}

// On a full disk the run takes no more rows, and is closed with what it has.
TEST_P(AnyContainer, TheDiskMayBeFullAnywhere) {
    auto const needed = [this] {
        BadDay const day(container(), {});
        return day.file->size() + (32 << 20); // and what is reserved ahead
    }();
    std::uint64_t refused_and_closed = 0;
    for (std::uint64_t space = 0; space < needed; space += needed / 97) {
        SCOPED_TRACE(space);
        FaultPlan plan;
        plan.space_bytes = space;
        BadDay const day(container(), plan);
        expect_honest(day);
        for (auto const& error : day.errors) EXPECT_NE(error.find("No space left"), std::string::npos) << error;
        if (day.closed && !day.errors.empty()) ++refused_and_closed;
        auto const disk = as_it_is(day);
        expect_recoverable(disk, promised_by(disk, day));
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(refused_and_closed, 0u);
}

// No disk tears the sector that it lies in, but should one do so: the file says what is wrong, and `recover` mends it.
TEST(BadDay, ATornAnchorIsRefusedUntilTheRunIsRecovered) {
    auto const container = rntuple_container();
    auto const day = cut_in_the_middle(container);
    auto const offset = format::rntuple::file_parts(container.head()).skeleton.tables[0].anchor_offset;
    for (std::size_t torn = 0; torn < format::rntuple::kAnchorBytes; torn += 6) {
        auto const disk = after_power_cut(*day);
        auto const promised = rows_before_barrier(disk.journal, *disk.file);
        ASSERT_FALSE(promised.empty());
        std::array<std::byte, 6> bytes;
        disk.file->read(offset + torn, bytes);
        for (auto& byte : bytes) byte ^= std::byte{0xff};
        disk.file->write(offset + torn, bytes);
        auto const said = message_of([&] { container.format.load(*disk.file); });
        EXPECT_NE(said.find(fmt::format("run.root: the anchor of RNTuple 'events' at offset {}", offset)),
                  std::string::npos)
            << said;
        complete_run(*disk.file, disk.journal, container.format, {});
        EXPECT_TRUE(container.is_complete(*disk.file));
        expect_at_least(expect_right(*disk.file), promised);
    }
}

} // namespace
} // namespace thalweg::dataset
