// What a new run replaces: what belongs to it goes or comes back, and nothing else is touched.
#include "thalweg/dataset/begin/set_aside.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>

#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::string text_of(std::string const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(Directory const& directory) {
    std::vector<std::string> names;
    for (auto const& each : std::filesystem::directory_iterator(directory.file("")))
        names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

CreateOptions by_force() {
    auto options = small_run_options();
    options.force = true;
    return options;
}

void leave_unfinished_run(std::string const& path) {
    auto const writer = Writer::create(path, events(), small_run_options());
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 20);
    producer.finish();
    writer->abandon();
}

TEST(SetAside, FilesThatOnlyBeginLikeItsJournalAreNotOfTheRun) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    leave_unfinished_run(path);
    std::ofstream(journal_path(path) + ".7") << "a segment";
    for (auto const* const ending : {".bak", "-notes.txt", ".7.bak"})
        std::ofstream(journal_path(path) + ending) << ending;
    Writer::create(path, events(), by_force())->close(kTimeoutNs);
    for (auto const* const ending : {".bak", "-notes.txt", ".7.bak"})
        EXPECT_EQ(text_of(journal_path(path) + ending), ending);
    EXPECT_EQ(names_in(directory), (std::vector<std::string>{"run.h5", "run.h5.journal-notes.txt",
                                                             "run.h5.journal.7.bak", "run.h5.journal.bak"}));
}

// A folder that its user has laid among the journals cannot be removed as a file.
TEST(SetAside, WhatCannotBeRemovedIsSaidAndTheNewRunStays) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    leave_unfinished_run(path);
    std::filesystem::create_directories(path + ".parts/notes");
    ::testing::internal::CaptureStderr();
    auto const writer = Writer::create(path, events(), by_force());
    auto const said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(directory.file(".replaced-")), std::string::npos) << said;
    EXPECT_NE(said.find("run.h5.parts"), std::string::npos) << said;
    EXPECT_EQ(said.find("run.h5.journal"), std::string::npos) << said; // which is gone
    writer->close(kTimeoutNs);
    EXPECT_FALSE(Reader::open(path)->is_open_run());
    auto const names = names_in(directory);
    EXPECT_EQ(names.size(), 2u);
    EXPECT_EQ(names.back(), "run.h5");
}

TEST(SetAside, WhatAnotherProcessHasPutInItsPlaceStaysAndThatIsSaid) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    std::ofstream(path) << "replaced";
    std::optional<SetAside> aside(path);
    std::ofstream(path) << "of another process";
    ::testing::internal::CaptureStderr();
    aside.reset();
    auto const said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text_of(path), "of another process");
    EXPECT_NE(said.find(directory.file(".replaced-")), std::string::npos) << said;
}

TEST(SetAside, WhatCannotBeRenamedBackIsSaid) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    std::ofstream(path) << "replaced";
    std::optional<SetAside> aside(path);
    for (auto const& name : names_in(directory)) std::filesystem::remove(directory.file(name));
    ::testing::internal::CaptureStderr();
    aside.reset();
    auto const said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(path), std::string::npos) << said;
    EXPECT_NE(said.find("No such file"), std::string::npos) << said;
}

} // namespace
} // namespace thalweg::dataset
