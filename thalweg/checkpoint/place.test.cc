// What a save takes for damaged, and for its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/saved_list.h"
#include "thalweg/checkpoint/test_saves.h"

namespace thalweg::checkpoint {
namespace {

std::string text_in(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t checksum_of(std::string_view bytes) { return base::xxh3(std::as_bytes(std::span(bytes))); }

// Makes a JSON text one of the next version.
void make_newer(std::string& json) {
    constexpr std::string_view kVersion = R"("format_version":1)";
    auto const at = json.find(kVersion);
    ASSERT_NE(at, std::string::npos);
    json[at + kVersion.size() - 1] = '2';
}

TEST(CheckpointPlaces, AWholeOneOfANewerVersionIsKept) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    save_value(path, 1);
    {
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
        auto place = place_of(*file);
        std::string record(place.record.size_bytes, '\0');
        file->read(place.record.offset, std::as_writable_bytes(std::span(record)));
        make_newer(record);
        place.record.checksum = checksum_of(record);
        auto const block = head_block("", place); // which has the checksum of the place
        file->write(place.record.offset, std::as_bytes(std::span(record)));
        file->write(3072, std::span(block).subspan(3072, sizeof place));
    }
    auto const newer = text_in(path);
    EXPECT_EQ(save_value(path, 2).problems, std::vector<std::string>());
    EXPECT_TRUE(text_in(path + ".1") == newer);
    EXPECT_EQ(value_of(restored(path)), 2);
}

TEST(CheckpointPlaces, AListOfANewerVersionStays) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5"), list = directory.path(kList);
    save_value(path, 1);
    auto json = text_in(list).substr(0, text_in(list).size() - 18);
    make_newer(json);
    auto const newer = fmt::format("{}\n{:016x}\n", json, checksum_of(json));
    std::ofstream(list) << newer;
    EXPECT_THROW(save_value(path, 2), base::DataError);
    EXPECT_EQ(text_in(list), newer);
    EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5"}));
    EXPECT_EQ(value_of(restored(path)), 1);
}

TEST(CheckpointPlaces, AListThatCannotBeReplacedLeavesNothingBeside) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    std::filesystem::create_directory(directory.path(kList)); // no file takes its place
    EXPECT_THROW(write_list(path, {}, directory.path("list.saving")), base::SystemError);
    EXPECT_EQ(files_in(directory), Files{kList});
}

TEST(CheckpointPlaces, AListThatCannotBeReadIsReported) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5"), list = directory.path(kList);
    save_value(path, 1);
    save_value(path, 2);
    std::filesystem::remove(list);
    std::filesystem::create_directory(list);
    auto const state = restored(path);
    EXPECT_EQ(value_of(state), 2);
    ASSERT_EQ(state.problems().size(), 1u);
    EXPECT_NE(state.problems()[0].find(list), std::string::npos) << state.problems()[0];
    flip_byte(path, 5000);
    EXPECT_EQ(restored(path).path(), path + ".1");
}

TEST(CheckpointPlaces, OnlyWhatSavesToThePathHaveLeftIsRemoved) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    std::string const id(32, 'a');
    Files const others{".psi.h5." + std::string(32, 'x') + ".saving", ".psi.h5.bak." + id + ".list.saving",
                       ".psi.h5.bak." + id + ".saving", ".psi.h5.mine.saving"};
    for (auto const& name : others) std::ofstream(directory.path(name)) << "of others";
    for (auto const* ending : {".saving", ".older.saving", ".list.saving"}) {
        std::ofstream(directory.path(".psi.h5." + id + ending)) << "left";
    }
    save_value(path, 1);
    auto stay = others;
    stay.insert(stay.end(), {kList, "psi.h5"});
    std::ranges::sort(stay);
    EXPECT_EQ(files_in(directory), stay);
}

} // namespace
} // namespace thalweg::checkpoint
