#include "thalweg/storage/test_faulty.h"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"

namespace thalweg::storage {
namespace {

using Bytes = std::vector<std::byte>;

Bytes filled(std::size_t size_bytes, int value) { return Bytes(size_bytes, static_cast<std::byte>(value)); }

Bytes all_of(Storage const& storage) {
    Bytes bytes(storage.size());
    storage.read(0, bytes);
    return bytes;
}

struct Disk {
    explicit Disk(FaultPlan const& plan = {}) : faults(std::make_shared<Faults>(plan)), file(make()) {}

    FaultyStorage make() const { return FaultyStorage(make_memory_storage("run.h5"), faults); }

    std::shared_ptr<Faults> faults;
    FaultyStorage file;
};

template <class Call> int code_of(Call const& call) {
    try {
        call();
        return 0;
    } catch (base::SystemError const& error) {
        return error.code;
    }
}

TEST(Faulty, WithoutAPlanNothingFailsAndEverythingIsCounted) {
    Disk disk;
    disk.file.reserve(0, 8192);
    disk.file.write(0, filled(100, 1));
    disk.file.write(50, filled(100, 2));
    disk.file.resize(4096);
    disk.file.sync();
    auto const counts = disk.faults->counts();
    EXPECT_EQ(counts.operations, 5u);
    EXPECT_EQ(counts.writes, 2u);
    EXPECT_EQ(counts.syncs, 1u);
    EXPECT_EQ(counts.reserves, 1u);
    EXPECT_EQ(all_of(*disk.file.after_power_cut()), all_of(disk.file));
}

TEST(Faulty, TheWriteOfTheGivenNumberFails) {
    Disk disk({.fail_write = 1});
    disk.file.write(0, filled(10, 1));
    EXPECT_EQ(code_of([&] { disk.file.write(10, filled(10, 2)); }), EIO);
    disk.file.write(20, filled(10, 3));
    EXPECT_EQ(disk.file.size(), 30u);
}

TEST(Faulty, AFailedSyncFailsForEverAndMakesNothingDurable) {
    Disk disk({.fail_sync = 1});
    disk.file.write(0, filled(10, 1));
    disk.file.sync();
    disk.file.write(0, filled(10, 2));
    EXPECT_EQ(code_of([&] { disk.file.sync(); }), EIO);
    EXPECT_EQ(code_of([&] { disk.file.sync(); }), EIO);
    EXPECT_EQ(all_of(disk.file), filled(10, 2));
    EXPECT_EQ(all_of(*disk.file.after_power_cut()), filled(10, 1));
}

TEST(Faulty, AllFilesShareTheSpace) {
    Disk disk({.space_bytes = 1000});
    auto journal = disk.make();
    disk.file.reserve(0, 900);
    journal.write(0, filled(100, 1));
    EXPECT_EQ(code_of([&] { journal.write(100, filled(1, 1)); }), ENOSPC);
    EXPECT_EQ(code_of([&] { disk.file.reserve(900, 1); }), ENOSPC);
    disk.file.write(0, filled(900, 2)); // what was reserved is there
    disk.file.resize(800);
    journal.write(100, filled(100, 1));
}

TEST(Faulty, TheReserveOfTheGivenNumberFindsNoSpace) {
    Disk disk({.refuse_reserve = 0});
    EXPECT_EQ(code_of([&] { disk.file.reserve(0, 10); }), ENOSPC);
    disk.file.reserve(0, 10);
}

TEST(Faulty, APowerCutDropsWhatWasNotSyncedAndStopsEverything) {
    Disk disk({.power_cut_at = 3});
    auto journal = disk.make();
    disk.file.write(0, filled(1000, 1));
    disk.file.sync();
    disk.file.write(500, filled(1000, 2));
    EXPECT_EQ(code_of([&] { journal.write(0, filled(10, 3)); }), EIO);
    EXPECT_TRUE(disk.faults->power_is_off());
    EXPECT_EQ(code_of([&] { disk.file.write(0, filled(1, 1)); }), EIO);
    EXPECT_EQ(code_of([&] { disk.file.sync(); }), EIO);
    EXPECT_EQ(code_of([&] { all_of(disk.file); }), EIO);
    EXPECT_EQ(all_of(*disk.file.after_power_cut()), filled(1000, 1));
    EXPECT_EQ(journal.after_power_cut()->size(), 0u);
}

TEST(Faulty, AnInterruptedWriteTearsAtSectors) {
    Disk disk({.seed = 5, .power_cut_at = 2, .sector_survival_chance = 0.5});
    disk.file.write(0, filled(100 * 512, 1));
    disk.file.sync();
    EXPECT_EQ(code_of([&] { disk.file.write(256, filled(99 * 512, 2)); }), EIO);
    auto const image = all_of(*disk.file.after_power_cut());
    ASSERT_EQ(image.size(), 100u * 512);
    int survived = 0;
    for (std::size_t sector = 0; sector < 100; ++sector) {
        auto const middle = std::span(image).subspan(sector * 512, 512);
        auto const changed = std::ranges::count(middle, std::byte{2});
        auto const possible = sector == 0 || sector == 99 ? 256 : 512;
        EXPECT_TRUE(changed == 0 || changed == possible) << "sector " << sector;
        survived += changed != 0;
    }
    EXPECT_GT(survived, 20);
    EXPECT_LT(survived, 80);
    EXPECT_EQ(all_of(*disk.file.after_power_cut()), image) << "asked twice, answered the same";
}

TEST(Faulty, TheSameSeedGivesTheSameImageAndAnotherSeedAnother) {
    auto const image = [](std::uint64_t seed) {
        Disk disk({.seed = seed, .power_cut_at = 3, .sector_survival_chance = 0.5});
        code_of([&] {
            for (int i = 0;; ++i) disk.file.write(static_cast<std::uint64_t>(i) * 3000, filled(9000, i + 1));
        });
        return all_of(*disk.file.after_power_cut());
    };
    EXPECT_EQ(image(1), image(1));
    EXPECT_NE(image(1), image(2));
}

TEST(Faulty, SurvivalOfAllKeepsEveryUnsyncedChange) {
    Disk disk({.sector_survival_chance = 1});
    disk.file.reserve(0, 100'000);
    disk.file.write(70'000, filled(777, 1));
    EXPECT_EQ(all_of(*disk.file.after_power_cut()), all_of(disk.file));
}

TEST(Faulty, AQueuedWriteIsNotDurableBeforeItWasReaped) {
    Disk disk;
    base::AlignedBuffer const buffer(base::kBlockBytes);
    auto const queue = disk.file.write_queue(2);
    queue->submit(0, buffer.bytes(), 1);
    disk.file.sync();
    EXPECT_EQ(disk.file.after_power_cut()->size(), 0u);
    Completion done;
    ASSERT_EQ(queue->reap({&done, 1}, true), 1u);
    EXPECT_EQ(disk.file.after_power_cut()->size(), 0u);
    disk.file.sync();
    EXPECT_EQ(disk.file.after_power_cut()->size(), base::kBlockBytes);
}

TEST(Faulty, QueuedWritesFailByChanceEachOnceWithItsToken) {
    Disk disk({.seed = 3, .write_failure_chance = 0.3, .short_write_chance = 0.3});
    base::AlignedBuffer const buffer(2 * base::kBlockBytes);
    auto const queue = disk.file.write_queue(4);
    std::set<std::uint64_t> tokens;
    int failures = 0;
    for (std::uint64_t i = 0; i < 200; ++i) queue->submit(i * 2 * base::kBlockBytes, buffer.bytes(), i);
    std::array<Completion, 7> done{};
    while (queue->in_flight() > 0) {
        auto const count = queue->reap(done, true);
        ASSERT_GT(count, 0u);
        for (auto const& completion : std::span(done).first(count)) {
            EXPECT_TRUE(tokens.insert(completion.token).second);
            failures += completion.error == EIO;
        }
    }
    EXPECT_EQ(tokens.size(), 200u);
    EXPECT_GT(failures, 30);
    EXPECT_LT(failures, 130);
}

// What the class is for: a tiny protocol (payload, sync, then a mark that says so, sync) is cut at every operation.
TEST(Faulty, EveryBoundaryOfAProtocolCanBeTried) {
    auto const run = [](FaultyStorage& data, FaultyStorage& mark) {
        for (int i = 1; i <= 5; ++i) {
            data.write(static_cast<std::uint64_t>(i - 1) * 1000, filled(1000, i));
            data.sync();
            mark.write(0, filled(1, i));
            mark.sync();
        }
    };
    Disk dry_disk;
    auto dry_mark = dry_disk.make();
    run(dry_disk.file, dry_mark);
    auto const operations = dry_disk.faults->counts().operations;
    ASSERT_EQ(operations, 20u);
    std::set<int> marks_seen;
    for (std::uint64_t cut = 0; cut < operations; ++cut) {
        for (double const survival : {0.0, 0.5, 1.0}) {
            Disk disk({.seed = cut, .power_cut_at = cut, .sector_survival_chance = survival});
            auto mark = disk.make();
            EXPECT_EQ(code_of([&] { run(disk.file, mark); }), EIO);
            auto const marked = all_of(*mark.after_power_cut());
            auto const payload = all_of(*disk.file.after_power_cut());
            int const last = marked.empty() ? 0 : static_cast<int>(marked[0]);
            marks_seen.insert(last);
            ASSERT_GE(payload.size(), static_cast<std::size_t>(last) * 1000) << "cut at " << cut;
            for (int i = 1; i <= last; ++i) {
                auto const begin = payload.begin() + (i - 1) * 1000;
                ASSERT_EQ(Bytes(begin, begin + 1000), filled(1000, i)) << "cut at " << cut;
            }
        }
    }
    EXPECT_EQ(marks_seen.size(), 6u);
}

} // namespace
} // namespace thalweg::storage
