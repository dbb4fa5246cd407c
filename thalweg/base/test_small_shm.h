// For tests: a process with a /dev/shm of its own, which is small, as in most containers.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thalweg::base::testing {

inline constexpr int kMayNotMount = 77;

// `options` are of tmpfs: "size=64k". False where this user may not mount.
inline bool mount_over_shm(char const* options) {
    int const user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
    return ::unshare(CLONE_NEWNS | user) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", "/dev/shm", "tmpfs", 0, options) == 0;
}

// Runs `work`, which returns 0 where all is well and otherwise says which step was not. The answer is that, or
// kMayNotMount.
template <class Work> int in_small_shm(char const* options, Work const& work) {
    auto const child = ::fork();
    if (child == 0) {
        if (!mount_over_shm(options)) ::_exit(kMayNotMount);
        int result = 99;
        try {
            result = work();
        } catch (std::exception const& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        ::_exit(result);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace thalweg::base::testing
