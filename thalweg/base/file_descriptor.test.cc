#include "thalweg/base/file_descriptor.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::base {
namespace {

class Files : public ::testing::Test {
  protected:
    Files() {
        std::string name = "/tmp/thalweg-test-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~Files() override { std::filesystem::remove_all(folder_); }
    std::string file(std::string const& name) const { return folder_ / name; }
    FileDescriptor make(std::string const& name) const { return open_file(file(name), O_RDWR | O_CREAT); }

    std::filesystem::path folder_;
};

TEST_F(Files, AFileIsTheSameUnderItsNameUntilThatIsAnothers) {
    auto const first = make("a");
    EXPECT_EQ(identity_of(first), identity_of(file("a")));
    EXPECT_EQ(identity_of(first).links, 1u);
    EXPECT_TRUE(remove_file(file("a")));
    EXPECT_EQ(identity_of(first).links, 0u);
    EXPECT_FALSE(identity_of(file("a")).has_value());
    auto const second = make("a");
    EXPECT_NE(identity_of(first), identity_of(file("a")));
    EXPECT_FALSE(identity_of(file("a") + "/below").has_value());
}

TEST_F(Files, WhatIsNotThereCannotBeRemovedAndSomeThingsRefuse) {
    EXPECT_FALSE(remove_file(file("nothing")));
    EXPECT_THROW(remove_file(folder_), SystemError);
    EXPECT_TRUE(is_directory(folder_));
    make("a");
    EXPECT_FALSE(is_directory(file("a")));
    EXPECT_FALSE(is_directory(file("nothing")));
}

TEST_F(Files, ALinkThatCannotBeFollowedIsNotTakenForAFile) {
    ASSERT_EQ(::symlink("loop", file("loop").c_str()), 0);
    EXPECT_THROW(behind_links(file("loop")), SystemError);
    EXPECT_THROW(is_directory(file("loop")), SystemError);
    ASSERT_EQ(::symlink("nothing", file("dangling").c_str()), 0);
    EXPECT_EQ(behind_links(file("dangling")), file("dangling"));
    EXPECT_FALSE(is_directory(file("dangling")));
}

TEST_F(Files, ADirectoryListsItsNames) {
    make("b"), make("a");
    auto names = list_directory(folder_);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(list_directory(file("nothing")).empty());
    EXPECT_THROW(list_directory(file("a")), SystemError);
}

TEST_F(Files, OnlySharedLocksGoTogether) {
    auto const one = make("a"), two = open_file(file("a"), O_RDONLY);
    EXPECT_TRUE(try_lock_file(one, "a", false));
    EXPECT_TRUE(try_lock_file(two, "a", false));
    EXPECT_FALSE(try_lock_file(two, "a", true));
    {
        auto const gone = open_file(file("a"), O_RDONLY);
        EXPECT_TRUE(try_lock_file(gone, "a", false));
    }
    EXPECT_TRUE(try_lock_file(one, "a", false));
    EXPECT_THROW(try_lock_file(FileDescriptor(), "a", true), SystemError);
}

} // namespace
} // namespace thalweg::base
