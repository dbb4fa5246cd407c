#include "thalweg/base/memory.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/test_small_shm.h"
#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

std::string const kPrefix = "thalweg-memory-test-" + std::to_string(::getpid()) + "-";

int code_of_attach(std::string const& name) {
    try {
        SharedMemory::attach(name);
        return 0;
    } catch (SystemError const& error) {
        return error.code;
    }
}

// Runs `work` in a forked child, which ends as a whole process does, destructors of `work` included.
template <class Work> void in_child(Work const& work) {
    auto const child = ::fork();
    if (child == 0) {
        work();
        std::_Exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

TEST(AlignedBuffer, IsZeroedAlignedAndRoundedUp) {
    AlignedBuffer const buffer(5000);
    EXPECT_EQ(buffer.size(), 2 * kBlockBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kBlockBytes, 0u);
    EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(AlignedBuffer, MovesItsMemory) {
    AlignedBuffer first(100);
    first.data()[7] = std::byte{9};
    AlignedBuffer second(std::move(first));
    EXPECT_EQ(first.data(), nullptr);
    AlignedBuffer third;
    third = std::move(second);
    EXPECT_EQ(third.data()[7], std::byte{9});
    EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
}

TEST(SharedMemory, IsSeenByNameAndGoesWithItsCreator) {
    auto const name = kPrefix + "life";
    {
        auto const created = SharedMemory::create(name, 10'000);
        auto const attached = SharedMemory::attach(name);
        EXPECT_EQ(attached.size(), 3 * kBlockBytes);
        created.data()[9999] = std::byte{5};
        EXPECT_EQ(attached.data()[9999], std::byte{5});
        EXPECT_EQ(SharedMemory::list(kPrefix), std::vector{name});
    }
    EXPECT_EQ(code_of_attach(name), ENOENT);
}

TEST(SharedMemory, OnlyItsUserMayOpenIt) {
    auto const name = kPrefix + "mode";
    auto const created = SharedMemory::create(name, 1);
    struct stat status {};
    ASSERT_EQ(::stat(("/dev/shm/" + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(SharedMemory, ANameIsTakenOnce) {
    auto const name = kPrefix + "twice";
    auto const created = SharedMemory::create(name, 1);
    try {
        SharedMemory::create(name, 1);
        FAIL() << "created twice";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code, EEXIST);
    }
    EXPECT_EQ(code_of_attach(name), 0) << "the refused creation must not have unlinked the first";
}

TEST(SharedMemory, AttachingOwnsNothingUntilItAdopts) {
    auto const name = kPrefix + "adopt";
    auto created = SharedMemory::create(name, 1);
    { auto const attached = SharedMemory::attach(name); }
    EXPECT_EQ(code_of_attach(name), 0);
    created.keep();
    created = SharedMemory();
    EXPECT_EQ(code_of_attach(name), 0);
    {
        auto attached = SharedMemory::attach(name);
        attached.adopt();
    }
    EXPECT_EQ(code_of_attach(name), ENOENT);
}

TEST(SharedMemory, MovingMovesTheOwnership) {
    auto const name = kPrefix + "move";
    SharedMemory outer;
    {
        auto inner = SharedMemory::create(name, 1);
        outer = std::move(inner);
    }
    EXPECT_EQ(code_of_attach(name), 0);
    outer = SharedMemory();
    EXPECT_EQ(code_of_attach(name), ENOENT);
}

TEST(SharedMemory, AForkedChildSharesItAndNeverUnlinksIt) {
    auto const name = kPrefix + "fork";
    auto segment = SharedMemory::create(name, 1);
    in_child([&] {
        segment.data()[0] = std::byte{77};
        SharedMemory const dying = std::move(segment);
    });
    EXPECT_EQ(segment.data()[0], std::byte{77});
    EXPECT_EQ(code_of_attach(name), 0);
}

TEST(SharedMemory, PrivateMemoryHasNoNameAndIsSharedWithChildren) {
    auto const segment = SharedMemory::create_private(100);
    EXPECT_TRUE(segment.name().empty());
    in_child([&] { segment.data()[99] = std::byte{3}; });
    EXPECT_EQ(segment.data()[99], std::byte{3});
}

TEST(SharedMemory, MoreThanDevShmHoldsIsAnErrorAndLeavesNothingBehind) {
    struct statvfs status {};
    ASSERT_EQ(::statvfs("/dev/shm", &status), 0);
    if (status.f_blocks == 0) GTEST_SKIP() << "/dev/shm has no limit here";
    auto const name = kPrefix + "full";
    try {
        SharedMemory::create(name, status.f_blocks * status.f_frsize + kGiB);
        FAIL() << "more than all of /dev/shm was given";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code, ENOSPC);
        EXPECT_NE(std::string(error.what()).find("in /dev/shm (there is no room"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(SharedMemory::list(kPrefix).empty());
}

TEST(SharedMemory, AnEmptySegmentIsOneThatIsNotThereYet) {
    auto const name = kPrefix + "empty";
    auto const path = "/dev/shm/" + name;
    ASSERT_EQ(::close(::creat(path.c_str(), 0600)), 0);
    EXPECT_EQ(code_of_attach(name), ENOENT);
    SharedMemory::unlink(name);
    EXPECT_TRUE(SharedMemory::list(kPrefix).empty());
}

struct Folder {
    Folder() {
        std::string name = "/tmp/thalweg-memory-test-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

TEST(SharedMemory, AFolderHoldsItAsDevShmDoes) {
    Folder const folder;
    auto const name = name_in_folder(folder.path, "thalweg-part");
    {
        auto const created = SharedMemory::create(name, 10'000);
        auto const attached = SharedMemory::attach(name);
        created.data()[9999] = std::byte{5};
        EXPECT_EQ(attached.data()[9999], std::byte{5});
        std::filesystem::create_directory(folder.path + "/thalweg-folder"); // another program's
        EXPECT_EQ(SharedMemory::list(name_in_folder(folder.path, "thalweg-")), std::vector{name});
        std::filesystem::remove(folder.path + "/thalweg-folder");
        struct stat status {};
        ASSERT_EQ(::stat(name.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600u);
        EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, created.size()) << "it is not allocated";
    }
    EXPECT_EQ(code_of_attach(name), ENOENT);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(SharedMemory, WhatHasNoRoomInDevShmGoesToTheFolder) {
    Folder const folder;
    MemoryFallback const fallback{folder.path, "name another"};
    auto const result = testing::in_small_shm("size=64k", [&] {
        auto const small = SharedMemory::create_where_room("small", 40'000, fallback);
        if (small.name() != "small") return 1;
        auto const large = SharedMemory::create_where_room("large", 100'000, fallback);
        if (large.name() != folder.path + "/large") return 2;
        auto const next = SharedMemory::create_where_room("next", 20'000, fallback); // what is left is not for halves
        if (next.name() != "next") return 3;
        try {
            SharedMemory::create_where_room("refused", 100'000, {"", "set THE_FOLDER"});
            return 4;
        } catch (SystemError const& error) {
            if (error.code != ENOSPC || std::string(error.what()).find("set THE_FOLDER") == std::string::npos) return 5;
        }
        try {
            SharedMemory::create_where_room("refused", 100'000, {folder.path + "/none", "set THE_FOLDER"});
            return 6;
        } catch (SystemError const& error) {
            if (error.code != ENOENT) return 7;
        }
        return SharedMemory::list("refused").empty() ? 0 : 8;
    });
    if (result == testing::kMayNotMount) GTEST_SKIP() << "this user may not mount here";
    EXPECT_EQ(result, 0);
}

TEST(SharedMemory, WithoutADevShmTheFolderTakesAll) {
    Folder const folder;
    auto const result = testing::in_small_shm("size=64k", [&] {
        if (::mount("none", "/dev/shm", nullptr, MS_REMOUNT | MS_RDONLY, "size=64k") != 0) return testing::kMayNotMount;
        return SharedMemory::create_where_room("part", 10, {folder.path, ""}).name() == folder.path + "/part" ? 0 : 1;
    });
    if (result == testing::kMayNotMount) GTEST_SKIP() << "this user may not mount here";
    EXPECT_EQ(result, 0);
}

TEST(SharedMemory, ATakenNameIsNoReasonToGoElsewhere) {
    Folder const folder;
    auto const name = kPrefix + "taken";
    auto const created = SharedMemory::create(name, 1);
    EXPECT_THROW(SharedMemory::create_where_room(name, 1, {folder.path, ""}), SystemError);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

} // namespace
} // namespace thalweg::base
