#include "thalweg/dataset/run/lock.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::string journal_in(Directory const& directory) {
    auto const path = directory.file("run.h5.journal");
    std::ofstream{path} << "any bytes";
    return path;
}

TEST(Lock, AProcessThatIsEndingIsWaitedFor) {
    Directory const directory;
    auto const journal = journal_in(directory);
    auto held = lock_shared(journal);
    std::jthread const ending([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        held = {};
    });
    EXPECT_NO_THROW(lock_exclusive(journal));
}

TEST(Lock, AProcessThatGoesOnKeepsTheJournal) {
    Directory const directory;
    auto const journal = journal_in(directory);
    auto const held = lock_shared(journal);
    EXPECT_THROW(lock_exclusive(journal), base::UsageError);
    EXPECT_FALSE(try_lock_exclusive(journal));
}

} // namespace
} // namespace thalweg::dataset
