#include "thalweg/base/scratch_budget.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "thalweg/base/error.h"

namespace thalweg::base {
namespace {

class ScratchBudget : public ::testing::Test {
  protected:
    ScratchBudget() { set_read_memory_bytes(100); }
    ~ScratchBudget() override { set_read_memory_bytes(before_); }

  private:
    std::uint64_t before_ = read_memory_bytes();
};

TEST_F(ScratchBudget, IsHeldAsLongAsItIsThere) {
    {
        ScratchShare const one(60);
        ScratchShare const other(40);
        ScratchShare const nothing(0);
        EXPECT_EQ(ScratchShare::held_in_process(), 100u);
    }
    EXPECT_EQ(ScratchShare::held_in_process(), 0u);
}

TEST_F(ScratchBudget, ThreadsWaitAndAllGetThrough) {
    std::atomic<std::uint64_t> held = 0, most = 0;
    std::atomic<int> alone = 0;
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                for (unsigned k = 0; k < 300; ++k) {
                    auto const bytes = k % 50 == 0 ? 300 : 10 + i * 7;
                    ScratchShare const share(bytes);
                    auto const now = held += bytes;
                    if (bytes != 300) {
                        for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
                        }
                    } else if (now == 300) {
                        ++alone;
                    }
                    std::this_thread::yield();
                    held -= bytes;
                }
            });
        }
    }
    EXPECT_EQ(alone, 8 * 6) << "more than there is goes to one at a time";
    EXPECT_LE(most, 100u);
}

TEST_F(ScratchBudget, AForkedChildBeginsAnew) {
    auto share = std::make_unique<ScratchShare>(100);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ScratchShare const own(100);
        share.reset();
        ::_exit(ScratchShare::held_in_process() == 100 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(ScratchBudget, NoneIsRefused) { EXPECT_THROW(set_read_memory_bytes(0), UsageError); }

} // namespace
} // namespace thalweg::base
