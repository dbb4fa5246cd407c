#include "thalweg/dataset/run/ledger.h"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::string new_run_id() { return model::make_run_head(pulses(1), {}, {}).id; }

// A segment that goes when the test does.
struct SharedLedger {
    explicit SharedLedger(std::string const& path = "/nowhere/run.h5")
        : ledger(Ledger::create(new_run_id(), path, true, 0)) {}
    ~SharedLedger() { remove_segments(ledger->name()); }
    std::unique_ptr<Ledger> ledger;
};

// What a process that is dead by now did.
template <class Work> void in_dead_process(Work const& work) {
    auto const child = ::fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

TEST(Ledger, ClaimsOfManyThreadsNeverOverlap) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 4096);
    ledger->head().claimable = 1ull << 40;
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> claims(4);
    {
        std::vector<std::jthread> threads;
        for (auto& mine : claims) {
            threads.emplace_back([&] {
                for (std::uint64_t i = 1; i < 5000; ++i)
                    mine.emplace_back(*ledger->claim(i % 7 * 4096 + 4096, nullptr), i % 7 * 4096 + 4096);
            });
        }
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (auto const& mine : claims) all.insert(all.end(), mine.begin(), mine.end());
    std::sort(all.begin(), all.end());
    std::uint64_t end = 4096;
    for (auto const& [offset, size] : all) {
        ASSERT_EQ(offset, end);
        end = offset + size;
    }
    EXPECT_EQ(ledger->head().claimed, end);
}

TEST(Ledger, AClaimWaitsForSpaceAndCanBeInterrupted) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    std::jthread const committer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ledger->head().claimable = 8192;
    });
    EXPECT_EQ(ledger->claim(8192, nullptr), 0u);
    int asked = 0;
    EXPECT_THROW(ledger->claim(1,
                               [&] {
                                   if (++asked == 3) throw base::UsageError("stop");
                               }),
                 base::UsageError);
    EXPECT_EQ(ledger->head().claimed, 8192u);
}

TEST(Ledger, ClaimsAreRefusedWhileTheDiskIsFull) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    ledger->refuse_claims(ENOSPC);
    EXPECT_EQ(ledger->claim(1, nullptr), std::nullopt);
    auto const said = message_of([&] { ledger->check_room(); });
    EXPECT_EQ(said.find("run.h5 takes no more rows at present (No space left on device): free some space"), 0u) << said;
    EXPECT_EQ(ledger->room_problem(), said);
    ledger->allow_claims();
    ledger->head().claimable = 1;
    EXPECT_EQ(ledger->claim(1, nullptr), 0u);
    EXPECT_EQ(ledger->room_problem(), "");
}

TEST(Ledger, AClaimEndsWhenTheRunDoes) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    ledger->fail("it broke");
    EXPECT_EQ(message_of([&] { ledger->check_alive(); }), "it broke");
    ledger->head().state = LedgerState::abandoned;
    EXPECT_NE(message_of([&] { ledger->check_alive(); }).find("ended by its creator"), std::string::npos);
}

TEST(Ledger, ADeadCommitterIsNoticedWithinASecond) {
    SharedLedger const shared;
    in_dead_process([&] { shared.ledger->head().committer = base::this_process(); });
    std::uint64_t took_ns = ~0ull;
    for (int i = 0; i < 10 && took_ns >= 1'000'000'000; ++i) { // what a busy machine adds is not the ledger's
        shared.ledger->beat();
        auto const begin_ns = base::monotonic_ns();
        EXPECT_NE(message_of([&] { shared.ledger->claim(1, nullptr); }).find("is dead): run `thalweg recover"),
                  std::string::npos);
        took_ns = base::monotonic_ns() - begin_ns;
    }
    EXPECT_LT(took_ns, 1'000'000'000u);
}

void settle_and_free(Ledger& ledger, std::size_t slot) {
    ASSERT_TRUE(ledger.slot(slot).change(SlotState::attaching, SlotState::settled));
    ledger.free_slot(slot);
}

TEST(Ledger, SlotsAreTakenAgainAndNumbersAreNot) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    for (std::size_t i = 0; i < ledger->slots(); ++i) EXPECT_EQ(ledger->take_slot(0), i);
    EXPECT_FALSE(ledger->take_slot(0)) << "all have producers";
    EXPECT_EQ(ledger->slot(7).number, 7u);
    settle_and_free(*ledger, 7);
    EXPECT_EQ(ledger->take_slot(0), 7u);
    EXPECT_EQ(ledger->slot(7).number, ledger->slots());
}

TEST(Ledger, ASlotWithMemoryOfTheSameTableIsTakenFirst) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    for (std::size_t table = 0; table < 2; ++table) {
        auto const slot = ledger->take_slot(table);
        ledger->make_staging(*slot, 1 << 20);
    }
    auto* const memory = ledger->open_staging(1)->data();
    settle_and_free(*ledger, 0);
    settle_and_free(*ledger, 1);
    EXPECT_EQ(ledger->take_slot(1), 1u);
    EXPECT_EQ(ledger->make_staging(1, 1 << 20)->data(), memory) << "the memory is used again";
    EXPECT_EQ(ledger->take_slot(1), 2u) << "that of table 0 is left to its producers while there are other slots";
}

TEST(Ledger, ManyTablesLeaveNoMoreMemoryThanTheLimit) {
    constexpr std::uint64_t kKeptBytes = 1 << 16, kMostLeftBytes = 4 * kKeptBytes;
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    for (std::size_t table = 0; table < 100; ++table) {
        auto const slot = ledger->take_slot(table, kMostLeftBytes);
        ASSERT_TRUE(slot);
        ledger->make_staging(*slot, {1 << 20, kKeptBytes});
        ledger->slot(*slot).state = SlotState::settled;
        ledger->free_slot(*slot);
    }
    EXPECT_EQ(ledger->slots_used(), 5u);
}

TEST(Ledger, ManyTablesLeaveNoMoreAddressesThanTheirLimit) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    for (std::size_t table = 0; table < 10; ++table) {
        auto const slot = ledger->take_slot(table);
        ASSERT_TRUE(slot);
        ledger->make_staging(*slot, {1 << 30, 1 << 12});
        ledger->slot(*slot).state = SlotState::settled;
        ledger->free_slot(*slot);
    }
    EXPECT_EQ(ledger->slots_used(), 3u);
}

TEST(Ledger, NoSlotIsTakenWhileEndedProducersHaveTooMuch) {
    auto const ledger = Ledger::create(new_run_id(), "run.h5", false, 0);
    auto const slot = ledger->take_slot(0);
    ledger->make_staging(*slot, {1 << 20, 1 << 16});
    EXPECT_EQ(ledger->take_slot(1, 1), 1u) << "a producer that lives has left nothing";
    ledger->slot(*slot).state = SlotState::finished;
    EXPECT_FALSE(ledger->take_slot(2, 1)) << "the committer has yet to free the slot";
    ledger->slot(*slot).state = SlotState::settled;
    ledger->free_slot(*slot);
    EXPECT_EQ(ledger->take_slot(2, 1), slot);
}

TEST(Ledger, SlotsOfDeadProcessesAreOrphans) {
    SharedLedger const shared;
    auto& ledger = *shared.ledger;
    in_dead_process([&] { ledger.take_slot(0); });
    in_dead_process([&] { ledger.slot(1).taker = ::getpid(); }); // killed half way
    ledger.head().slots_used = 2;
    EXPECT_EQ(ledger.take_slot(0), 2u);
    EXPECT_TRUE(ledger.is_orphaned(0));
    EXPECT_TRUE(ledger.is_orphaned(1));
    EXPECT_FALSE(ledger.is_orphaned(2));
    EXPECT_TRUE(ledger.has_producers());
    EXPECT_FALSE(ledger.slot(2).change(SlotState::active, SlotState::finished)) << "it is attaching";
    EXPECT_TRUE(ledger.slot(2).change(SlotState::attaching, SlotState::active));
    EXPECT_TRUE(ledger.slot(2).change(SlotState::active, SlotState::finished));
    EXPECT_FALSE(ledger.has_producers());
}

TEST(Ledger, AttachSaysWhyNot) {
    EXPECT_NE(
        message_of([] { Ledger::attach("thalweg-0000000000000000"); }).find("closed, dead, or on another machine"),
        std::string::npos);
    auto const foreign = base::SharedMemory::create("thalweg-test-" + new_run_id(), 1 << 20);
    EXPECT_NE(message_of([&] { Ledger::attach(foreign.name()); }).find("another version"), std::string::npos);
    SharedLedger const shared;
    shared.ledger->head().state = LedgerState::closed;
    EXPECT_NE(message_of([&] { attach(shared.ledger->name()); }).find("ended by its creator"), std::string::npos);
    shared.ledger->head().state = LedgerState::open; // but its journal is not there
    EXPECT_NE(message_of([&] { attach(shared.ledger->name()); }).find("its journal was taken away"), std::string::npos);
}

} // namespace
} // namespace thalweg::dataset
