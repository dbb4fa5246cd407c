// What a data file is, whatever its name and the number of its device.
#include <cstring>

#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// The number of a device changes when its file system is mounted again, and a copy may have the inode of the original.
TEST(DataFile, ItsBirthTellsItFromACopy) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    Writer::create(path, events(), small_run_options())->abandon();
    RunPlace const place(path);
    auto preamble = require_start(*place.open_journal(storage::OpenMode::read_only).main).preamble;
    if (preamble.birth == 0) GTEST_SKIP() << "the file system keeps no birth times";
    EXPECT_TRUE(place.is_original(preamble));
    ++preamble.device;
    EXPECT_TRUE(place.is_original(preamble)) << "it was mounted again";
    auto another = preamble;
    ++another.inode;
    EXPECT_FALSE(place.is_original(another));
    another = preamble;
    another.birth ^= 1;
    EXPECT_FALSE(place.is_original(another)) << "a copy on a file system that gave it the same inode";
    another.birth = 0;
    EXPECT_FALSE(place.is_original(another)) << "by another device, and no restart that would explain that";
    std::strcpy(another.boot_id, "another boot");
    EXPECT_TRUE(place.is_original(another)) << "a restart explains another device";
    recover(path);
}

} // namespace
} // namespace thalweg::dataset
