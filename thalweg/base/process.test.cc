#include "thalweg/base/process.h"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::base {
namespace {

// A child that sleeps until it is killed, and says who it is.
struct Child {
    Child() {
        int ends[2];
        if (::pipe(ends) != 0) return;
        pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_NAME, "a) Z 1 (b"); // a name that would fool a careless reader of /proc
            auto const self = this_process();
            auto const written = ::write(ends[1], &self, sizeof self);
            for (;;) ::pause();
            std::_Exit(written > 0 ? 0 : 1);
        }
        ok = ::read(ends[0], &id, sizeof id) == sizeof id;
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~Child() { bury(); }

    void bury() {
        if (pid > 0) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        pid = 0;
    }

    // Dead and not yet waited for.
    void make_zombie() const {
        ::kill(pid, SIGKILL);
        siginfo_t info{};
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    }

    pid_t pid = 0;
    ProcessId id;
    bool ok = false;
};

TEST(Process, ThisProcessIsAlive) {
    EXPECT_EQ(this_process().pid, ::getpid());
    EXPECT_GT(this_process().start_ticks, 0u);
    EXPECT_TRUE(is_alive(this_process()));
}

// It may go while we read what the kernel says of it. That threw, and ended a recording whose worker was killed.
TEST(Process, AChildThatIsJustGoingIsNoError) {
    for (int i = 0; i < 200; ++i) {
        auto const child = ::fork();
        if (child == 0) ::_exit(0);
        ProcessId const id{child, 0, 0};
        std::atomic<bool> is_gone = false;
        std::thread reaper([&] {
            ::waitpid(child, nullptr, 0);
            is_gone = true;
        });
        while (!is_gone) EXPECT_NO_THROW(static_cast<void>(is_alive(id)));
        reaper.join();
        EXPECT_FALSE(is_alive(id));
    }
}

TEST(Process, AChildIsAliveUntilItIsKilled) {
    Child child;
    ASSERT_TRUE(child.ok);
    EXPECT_EQ(child.id.pid, child.pid);
    EXPECT_TRUE(is_alive(child.id));
    child.bury();
    EXPECT_FALSE(is_alive(child.id));
}

TEST(Process, AZombieIsDead) {
    Child const child;
    ASSERT_TRUE(child.ok);
    child.make_zombie();
    ASSERT_EQ(::kill(child.pid, 0), 0) << "the kernel still knows it";
    EXPECT_FALSE(is_alive(child.id));
}

TEST(Process, AProcessLivesAsLongAsAnyOfItsThreads) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    auto const child = ::fork();
    if (child == 0) {
        static int const to = ready[1];
        pthread_t thread;
        auto const last = [](void*) -> void* {
            auto const self = this_process();
            char state = '?';
            while (state != 'Z') {
                std::ifstream stat("/proc/" + std::to_string(self.pid) + "/stat");
                stat.ignore(4096, ')') >> state;
            }
            static_cast<void>(!::write(to, &self, sizeof self));
            ::pause();
            return nullptr;
        };
        if (::pthread_create(&thread, nullptr, last, nullptr) != 0) ::_exit(1);
        ::syscall(SYS_exit, 0); // of this thread alone
    }
    ::close(ready[1]);
    ProcessId process;
    ASSERT_EQ(::read(ready[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
    EXPECT_TRUE(is_alive(process));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(is_alive(process));
}

TEST(Process, AReusedPidIsAnotherProcess) {
    auto other = this_process();
    other.start_ticks -= 1;
    EXPECT_FALSE(is_alive(other));
    EXPECT_FALSE(is_alive({}));
    EXPECT_FALSE(is_alive({.pid = -1}));
}

// In a child that may open no file: what the kernel says without one is still an answer, and all else is an error.
TEST(Process, WhatCannotBeReadIsAnErrorAndNoAnswer) {
    auto const dead = ::fork();
    if (dead == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
    auto const self = this_process();
    auto const child = ::fork();
    if (child == 0) {
        rlimit const none{0, 0};
        ::setrlimit(RLIMIT_NOFILE, &none);
        auto const fails = [](auto const& ask) {
            try {
                static_cast<void>(ask());
                return false;
            } catch (SystemError const& error) {
                return error.code == EMFILE;
            }
        };
        int wrong = 0;
        wrong += fails([] { return this_process(); }) ? 0 : 1;
        wrong += fails([] { return boot_id(); }) ? 0 : 2;
        wrong += fails([&] { return is_alive(self); }) ? 0 : 4; // the parent
        wrong += is_alive({dead, 0, 1}) ? 8 : 0;
        ::_exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Process, HostAndBootHaveNames) {
    EXPECT_EQ(boot_id().size(), 36u);
    EXPECT_EQ(boot_id(), boot_id());
    EXPECT_FALSE(host_name().empty());
}

} // namespace
} // namespace thalweg::base
