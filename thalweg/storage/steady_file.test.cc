#include "thalweg/storage/steady_file.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "thalweg/base/error.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::storage {
namespace {

void write_text(std::string const& path, std::string const& text, std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(path, std::ios::binary | mode) << text;
}

// Modification times of two quick writes may be equal: this sets one that differs.
void set_later_time(std::string const& path) {
    timespec const times[2] = {{1'000'000'000, 0}, {2'000'000'000, 1}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

std::string text_of(SteadyFile const& file, std::size_t size_bytes = 4) {
    std::string text(size_bytes, ' ');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string data_error_of(std::function<void()> const& call) {
    try {
        call();
    } catch (base::DataError const& error) {
        return error.what();
    }
    return "no DataError";
}

struct SteadyFileTest : testing::Test {
    SteadyFileTest() { write_text(path, "abcd"); }

    TestDirectory const directory;
    std::string const path = directory.path("file");
};

TEST_F(SteadyFileTest, IsReadAsItWasWhateverItsNameIsByNow) {
    SteadyFile file(path);
    file.hold();
    std::filesystem::rename(path, path + ".old");
    EXPECT_EQ(text_of(file), "abcd");
    write_text(path, "efgh");
    EXPECT_EQ(text_of(file), "abcd");
    std::filesystem::remove(path + ".old");
    EXPECT_EQ(text_of(file), "abcd");
}

TEST_F(SteadyFileTest, WhatIsWrittenIntoItIsAnError) {
    SteadyFile file(path);
    file.hold();
    write_text(path, "efgh", std::ios::in);
    set_later_time(path);
    for (auto const& said : {data_error_of([&] { text_of(file); }), data_error_of([&] { file.check(); })})
        EXPECT_EQ(said, path + " is not the file that was opened (another program has written to it since it was "
                               "opened): open it again");
}

TEST_F(SteadyFileTest, ADifferentSizeIsAnErrorThatNamesBothSizes) {
    SteadyFile file(path);
    file.hold();
    write_text(path, "efgh", std::ios::app);
    EXPECT_NE(data_error_of([&] { text_of(file); }).find("it had 4 bytes when it was opened, and has 8 now"),
              std::string::npos);
}

TEST_F(SteadyFileTest, AFileThatHasBecomeShorterIsNoErrorOfTheMachine) {
    SteadyFile file(path);
    file.hold();
    std::filesystem::resize_file(path, 1);
    EXPECT_NE(data_error_of([&] { text_of(file); }).find("and has 1 now"), std::string::npos);
}

TEST_F(SteadyFileTest, ItMayGrowUntilItIsHeld) {
    SteadyFile file(path);
    write_text(path, "efgh", std::ios::app);
    EXPECT_EQ(text_of(file, 8), "abcdefgh");
    EXPECT_EQ(data_error_of([&] { file.check(); }), "no DataError");
    EXPECT_NE(data_error_of([&] { file.hold(); }).find("has 8 now"), std::string::npos);
}

TEST_F(SteadyFileTest, ItsStateIsThatOfTheOpenedFile) {
    SteadyFile const file(path);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    write_text(path, "efghij");
    EXPECT_EQ(file.state().device, status.st_dev);
    EXPECT_EQ(file.state().inode, status.st_ino);
    EXPECT_EQ(file.state().size_bytes, 4u);
    EXPECT_EQ(file.state().mtime_ns, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
}

} // namespace
} // namespace thalweg::storage
