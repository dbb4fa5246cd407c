// What is left of a file when the power goes while it is completed, or when its bytes are not what was written.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/storage/test_faulty.h"

namespace thalweg::format::hdf5::files {
namespace {

bool is_right(storage::Storage const& file, TestRun const& run) {
    auto const map = hdf5_format().load(file);
    for (std::size_t c = 0; c < run.head.columns[0].size(); ++c) {
        if (TestRun::read(map, file, 0, c) != run.expected(0, c)) return false;
    }
    return true;
}

// True where it opens; then it must be right.
bool opens(storage::Storage const& file, TestRun const& run) {
    try {
        EXPECT_TRUE(is_right(file, run));
        return true;
    } catch (base::DataError const&) {
        return false;
    }
}

// Completes a copy of the run's file whose power is cut at an operation. Returns what the disk then holds, none where
// the run was complete before.
std::unique_ptr<storage::Storage> cut_at(std::uint64_t operation, double survival, TestRun const& run,
                                         storage::Storage const& before) {
    // Copying and syncing `before` are the first operations.
    storage::FaultPlan plan;
    plan.power_cut_at = operation + 3;
    plan.seed = operation;
    plan.sector_survival_chance = survival;
    auto const faults = std::make_shared<storage::Faults>(plan);
    storage::FaultyStorage faulty(storage::make_memory_storage("run.h5"), faults);
    faulty.write(0, contents(before));
    faulty.resize(before.size());
    faulty.sync();
    EXPECT_EQ(faults->counts().operations, 3u);
    try {
        hdf5_format().complete(faulty, *run.journal, run.head, run.facts);
    } catch (base::SystemError const&) {
    }
    return faults->power_is_off() ? faulty.after_power_cut() : nullptr;
}

void expect_cuts_are_harmless(TestRun& run, storage::Storage const& before) {
    for (double const survival : {0.0, 0.5, 1.0}) {
        std::uint64_t operation = 0;
        for (;; ++operation) {
            auto const left = cut_at(operation, survival, run, before);
            if (!left) break;
            opens(*left, run);
            hdf5_format().complete(*left, *run.journal, run.head, run.facts);
            EXPECT_TRUE(opens(*left, run)) << "power cut at operation " << operation;
        }
        EXPECT_GE(operation, 5u);
    }
}

TEST(Hdf5Crash, APowerCutLeavesAFileThatDoesNotOpenOrIsRight) {
    auto run = pulses_and_hits(1);
    expect_cuts_are_harmless(run, *run.file);
}

TEST(Hdf5Crash, APowerCutWhileCompletedAgainToo) {
    auto run = pulses_and_hits(2);
    run.complete();
    auto const complete = storage::make_memory_storage("complete.h5");
    storage::copy_storage(*run.file, *complete);
    expect_cuts_are_harmless(run, *complete);
}

// Loads bytes in a process of their own, since libhdf5 itself may crash on damaged ones. Returns how it ended.
int load_in_child(Bytes const& bytes, TestRun const& run) {
    auto const child = fork();
    if (child == 0) {
        alarm(20);
        try {
            auto const file = storage::make_memory_storage("damaged.h5");
            file->write(0, bytes);
            file->resize(bytes.size());
            is_right(*file, run); // a flipped byte of the payload is seen by checksums only
        } catch (base::Error const&) {
        } catch (...) {
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(Hdf5Crash, DamagedMetadataIsAnErrorAndNeverACrash) {
    auto run = pulses_and_hits(3);
    run.complete();
    auto const bytes = contents(*run.file);
    std::mt19937 random(5);
    int rounds = 300;
    if (auto const* text = std::getenv("THALWEG_TEST_ROUNDS")) rounds = std::atoi(text);
    for (int round = 0; round < rounds; ++round) {
        auto damaged = bytes;
        auto const at =
            round % 5 == 0 ? random() % 48 : run.facts.end_offset + random() % (bytes.size() - run.facts.end_offset);
        damaged[at] ^= static_cast<std::byte>(1u << random() % 8);
        if (round % 7 == 0) damaged.resize(1 + random() % bytes.size());
        EXPECT_EQ(load_in_child(damaged, run), 0) << "round " << round << ", offset " << at;
    }
}

TEST(Hdf5Crash, ForeignBytesAreAnError) {
    std::mt19937 random(6);
    for (std::size_t const size : {0, 1, 8, 100, 5000, 100000}) {
        auto const file = storage::make_memory_storage("noise");
        Bytes bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        if (size > 0) file->write(0, bytes);
        EXPECT_THROW(hdf5_format().load(*file), base::DataError) << size;
        EXPECT_EQ(ours::run_id_of(*file), std::nullopt);
    }
}

} // namespace
} // namespace thalweg::format::hdf5::files
