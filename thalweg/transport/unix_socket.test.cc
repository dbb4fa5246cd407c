#include "thalweg/transport/unix_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::transport {
namespace {

std::string some_path(std::string const& name) {
    auto path = testing::TempDir() + "thalweg-" + std::to_string(::getpid()) + "-" + name;
    ::unlink(path.c_str());
    return path;
}

bool connects(std::string const& path) {
    try {
        return connect_error(begin_connect(unix_address(path))) == 0;
    } catch (base::SystemError const&) {
        return false;
    }
}

TEST(UnixListener, IsForItsOwnerAloneAndGoesWithItsProgram) {
    auto const path = some_path("owner");
    auto const before = ::umask(0);
    {
        UnixListener const listener(path);
        struct stat found {};
        ASSERT_EQ(::lstat(path.c_str(), &found), 0);
        EXPECT_TRUE(S_ISSOCK(found.st_mode));
        EXPECT_EQ(found.st_mode & 0777u, 0600u);
        EXPECT_TRUE(connects(path));
        EXPECT_THROW(UnixListener second(path), base::SystemError);
        EXPECT_TRUE(connects(path)) << "the first one stays";
    }
    ::umask(before);
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(UnixListener, ReplacesWhatADeadProgramLeft) {
    auto const path = some_path("dead");
    {
        base::FileDescriptor const left(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{.sun_family = AF_UNIX};
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    UnixListener const listener(path);
    EXPECT_TRUE(connects(path));
}

TEST(UnixListener, DestroysNoFileAndSaysWhatIsWrong) {
    auto const path = some_path("file");
    base::FileDescriptor const file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_THROW(UnixListener listener(path), base::UsageError);
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    ::unlink(path.c_str());
    EXPECT_THROW(UnixListener listener(testing::TempDir() + std::string(120, 'x')), base::UsageError);
    EXPECT_THROW(UnixListener listener(""), base::UsageError);
    EXPECT_THROW(UnixListener listener("/nowhere/at/all"), base::SystemError);
}

TEST(UnixListener, WhatIsThereNowIsNotRemovedWhenItBelongsToAnother) {
    auto const path = some_path("other");
    {
        UnixListener const first(path);
        auto const moved = path + ".moved"; // or a new file could have the number of the old one
        ASSERT_EQ(::rename(path.c_str(), moved.c_str()), 0);
        UnixListener const second(path);
        ::unlink(moved.c_str());
        EXPECT_TRUE(connects(path));
    }
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the second one was the last to be at this path";
}

} // namespace
} // namespace thalweg::transport
