#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/container/tfile_streamers.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

std::unique_ptr<storage::Storage> file_of(std::span<std::byte const> bytes) {
    auto file = storage::make_memory_storage("memory.root");
    file->write(0, bytes);
    return file;
}

std::vector<std::string> paths_of(std::vector<FileKey> const& keys) {
    std::vector<std::string> paths;
    for (auto const& key : keys) paths.push_back(key.path + " " + key.class_name);
    return paths;
}

Skeleton nested(std::string const& text = "{}") {
    return make_skeleton("run.root",
                         {{"ch0/raw", "ADC", Bytes(20)}, {"ch0/deep/er/raw", "", Bytes(300)}, {"top", "", Bytes(7)}},
                         {"thalweg", text}, "seed", 1'790'000'000);
}

FileKey const& key_of(std::vector<FileKey> const& keys, std::string const& path) {
    return *std::ranges::find(keys, path, &FileKey::path);
}

TEST(TfileReading, FindsWhatWasWritten) {
    auto const skeleton = nested();
    auto const file = file_of(skeleton.bytes);
    auto const keys = read_keys(*file);
    EXPECT_EQ(paths_of(keys),
              (std::vector<std::string>{"ch0 TDirectory", "ch0/raw ROOT::RNTuple", "ch0/deep TDirectory",
                                        "ch0/deep/er TDirectory", "ch0/deep/er/raw ROOT::RNTuple", "top ROOT::RNTuple",
                                        "thalweg TObjString"}));
    auto const& anchor = key_of(keys, "ch0/deep/er/raw");
    EXPECT_EQ(anchor.offset + anchor.key_bytes, skeleton.tables[1].anchor_offset);
    EXPECT_EQ(anchor.stored_bytes, kAnchorBytes);
    EXPECT_EQ(read_object(*file, anchor), Bytes(kAnchorBytes));
    EXPECT_EQ(key_of(keys, "ch0/raw").title, "ADC");
    EXPECT_THROW(read_text(*file, anchor), base::DataError);
}

TEST(TfileReading, TextsOfAnyLengthComeBack) {
    for (std::size_t const length : {0, 1, 254, 255, 256, 70'000}) {
        std::string const text(length, 'x');
        auto const file = file_of(nested(text).bytes);
        EXPECT_EQ(read_text(*file, key_of(read_keys(*file), "thalweg")), text);
    }
}

TEST(TfileReading, AnEndingAboveTwoGigabytesReplacesTheText) {
    constexpr std::uint64_t kFar = std::uint64_t{5} << 30;
    auto const skeleton = nested();
    auto const ending = make_ending(skeleton.bytes, {"thalweg", "[1]"}, kFar, 1'790'000'000);
    storage::TestDirectory const directory;
    auto const file =
        storage::open_file_storage(directory.path("far.root"), storage::OpenMode::create_new, storage::Engine::posix);
    file->write(0, skeleton.bytes);
    file->resize(kFar); // sparse
    file->write(kFar, ending.appended);
    auto const before = read_keys(*file);
    EXPECT_EQ(read_text(*file, key_of(before, "thalweg")), "{}");
    file->write(0, ending.first_sector);
    auto const after = read_keys(*file);
    EXPECT_EQ(paths_of(after), paths_of(before));
    EXPECT_EQ(read_text(*file, key_of(after, "thalweg")), "[1]");
    EXPECT_EQ(key_of(after, "thalweg").cycle, 2);
    EXPECT_EQ(file->size(), ending.file_bytes);
}

TEST(TfileReading, OnlyTheHighestCycleOfAName) {
    KeyWriter writer(0, 0);
    put(writer.bytes(), FileHead{.name_bytes = 60});
    BigPutter payload;
    payload.put_zeros(9 + 1 + kDirectoryBytes); // name and title again, which no reader looks at
    auto const root = writer.append({.class_name = "TFile", .name = "12345678", .title = ""}, payload.bytes());
    std::vector<KeyHead> keys;
    for (auto const cycle : std::array<std::uint16_t, 3>{1, 3, 2}) {
        keys.push_back(writer.append({.class_name = "TObjString", .name = "a", .title = "", .cycle = cycle},
                                     text_object(std::to_string(cycle))));
    }
    auto const list = writer.append_key_list(root, keys);
    auto bytes = writer.bytes().release();
    BigPutter record;
    put(record, DirectoryRecord{.keys_bytes = list.record_bytes, .offset = kBegin, .keys_offset = list.offset});
    std::ranges::copy(record.bytes(), bytes.begin() + kBegin + 60);
    auto const file = file_of(bytes);
    auto const found = read_keys(*file);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(read_text(*file, found[0]), "3");
}

// So does ROOT 5 (uproot-issue64.root of scikit-hep-testdata): the bytes of "File" do not count.
TEST(TfileReading, AListMayCallADirectoryByALongerNameThanItsKey) {
    auto const taken = [](std::string const& class_name, std::size_t less) {
        KeyHead key{.class_name = class_name, .name = "events", .record_bytes = 111, .object_bytes = 60};
        key.key_bytes = static_cast<std::uint16_t>(size_of(key) - less);
        BigPutter to;
        put(to, key);
        BigTaker from{to.bytes(), "key"};
        return take_key(from).name;
    };
    EXPECT_EQ(taken("TDirectoryFile", 0), "events");
    EXPECT_EQ(taken("TDirectoryFile", 4), "events");
    EXPECT_THROW(taken("TDirectoryFile", 2), base::DataError);
    EXPECT_THROW(taken("TDirectory", 4), base::DataError);
}

TEST(TfileReading, DirectoriesWithinThemselvesAreFound) {
    auto bytes = nested().bytes;
    auto const keys = read_keys(*file_of(bytes));
    auto const& folder = key_of(keys, "ch0");
    BigTaker root{std::span(bytes).subspan(160, kDirectoryBytes), "root"}; // name and title end there
    auto const record = take_directory(root);
    BigPutter loop;
    put(loop, record);
    std::ranges::copy(loop.bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(folder.offset + folder.key_bytes));
    EXPECT_THROW(read_keys(*file_of(bytes)), base::DataError);
}

TEST(TfileReading, ASizeThatIsNotThereTakesNoMemory) {
    auto const file = file_of(nested(std::string(1'000, 'x')).bytes);
    auto key = key_of(read_keys(*file), "thalweg");
    key.object_bytes = 0x7fff'ffff; // so it would be compressed
    EXPECT_THROW(read_object(*file, key), base::DataError);
    key.stored_bytes = 0x7fff'ffff;
    EXPECT_THROW(read_object(*file, key), base::DataError);
}

// Whatever it is, it is read or refused.
void read_all(storage::Storage const& file) {
    try {
        for (auto const& key : read_keys(file)) {
            if (key.class_name == "TObjString")
                read_text(file, key);
            else
                read_object(file, key);
        }
    } catch (base::DataError const& error) {
        EXPECT_NE(std::string(error.what()).find(file.path()), std::string::npos) << error.what();
    }
}

void read_damaged(Bytes const& bytes, int rounds, std::size_t flip_below) {
    std::mt19937 random(11);
    auto const file = file_of(bytes);
    for (int round = 0; round < rounds; ++round) {
        auto const begin = random() % std::min(flip_below, bytes.size());
        Bytes flipped(std::min<std::size_t>(1 + random() % 4, bytes.size() - begin));
        for (auto& byte : flipped) byte = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
        file->write(begin, flipped);
        read_all(*file);
        file->write(begin, std::span(bytes).subspan(begin, flipped.size()));
    }
    for (int round = 0; round < 100; ++round) read_all(*file_of(std::span(bytes).first(random() % bytes.size())));
}

TEST(TfileReading, DamageIsReadOrRefused) {
    auto const bytes = nested().bytes;
    read_damaged(bytes, 5'000, bytes.size());
    read_damaged(bytes, 5'000, 300);
    EXPECT_THROW(read_keys(*file_of(std::span(bytes).first(3))), base::DataError);
    EXPECT_THROW(read_keys(*storage::make_memory_storage("empty")), base::DataError);
}

// A key list is all that says what is in a file: where a part of it is zeros, nothing may be missing in silence. What
// bytes of zeros change in it is found, but in titles, which are decoration.
TEST(TfileReading, ZerosInAKeyListAreFound) {
    auto const skeleton = nested().bytes;
    auto const good = paths_of(read_keys(*file_of(skeleton)));
    auto const text = key_of(read_keys(*file_of(skeleton)), "thalweg");
    auto const lists = text.offset + text.key_bytes + text.stored_bytes;
    std::size_t found = 0;
    for (std::uint64_t sector = 64; sector <= kSectorBytes; sector *= 2) {
        for (auto begin = lists; begin < skeleton.size(); ++begin) {
            auto bytes = skeleton;
            auto const end = std::min(bytes.size(), begin + sector);
            std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                      bytes.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
            try {
                auto const paths = paths_of(read_keys(*file_of(bytes)));
                // A list whose beginning is zeros has no keys, and no table either.
                EXPECT_TRUE(paths == good || std::ranges::find(paths, good.back()) != paths.end() || paths.empty())
                    << begin << ", " << sector;
            } catch (base::DataError const&) {
                ++found;
            }
        }
    }
    EXPECT_GT(found, 100u);
}

// Blocks of two algorithms, one behind the other.
TEST(TfileReading, CompressedObjects) {
    std::string const text(100'000, 'x');
    auto const object = text_object(text);
    Bytes stored;
    auto raw = std::span(object);
    for (auto const* name : {"root:byte+zstd", "root:byte+lz4"}) {
        auto const codec = codec::make_root_codec(name, 1);
        auto const part = raw.first(std::min<std::size_t>(raw.size(), 60'000));
        Bytes blocks(codec->bound_bytes(part.size()));
        blocks.resize(codec->encode(part, blocks));
        stored.insert(stored.end(), blocks.begin(), blocks.end());
        raw = raw.subspan(part.size());
    }
    FileKey const key{.path = "text",
                      .class_name = "TObjString",
                      .title = "",
                      .stored_bytes = stored.size(),
                      .object_bytes = object.size()};
    EXPECT_EQ(read_text(*file_of(stored), key), text);

    std::mt19937 random(13);
    for (int round = 0; round < 2'000; ++round) {
        auto damaged = stored;
        damaged[random() % damaged.size()] = static_cast<std::byte>(random());
        try {
            read_object(*file_of(damaged), key);
        } catch (base::DataError const& error) {
            EXPECT_NE(std::string(error.what()).find("memory.root"), std::string::npos) << error.what();
        }
    }
}

// A key of the 32-bit form, as ROOT 6.35 wrote it.
TEST(TfileReading, KeysOfTheSmallForm) {
    BigPutter bytes;
    bytes.put<std::uint32_t>(126);
    bytes.put<std::uint16_t>(4);
    bytes.put<std::uint32_t>(78);
    bytes.put<std::uint32_t>(0x76e6'9a41);
    bytes.put<std::uint16_t>(48);
    bytes.put<std::uint16_t>(1);
    bytes.put<std::uint32_t>(685);
    bytes.put<std::uint32_t>(100);
    bytes.put_text(std::string_view("\15ROOT::RNTuple\6ntuple\0", 22));
    BigTaker from(bytes.bytes(), "key");
    auto const key = take_key(from);
    EXPECT_EQ(from.left(), 0u);
    EXPECT_EQ(key.key_bytes, 48);
    EXPECT_EQ(key.offset, 685u);
    EXPECT_EQ(key.directory, 100u);
    EXPECT_EQ(key.name, "ntuple");
}

std::vector<std::unique_ptr<storage::Storage>> real_files() {
    auto const* folder = std::getenv("THALWEG_DATA");
    std::vector<std::unique_ptr<storage::Storage>> files;
    for (auto const* part : {"/rntuple", "/events"}) {
        std::error_code absent;
        auto const path = (folder != nullptr ? folder : std::string(THALWEG_TEST_DATA)) + part;
        for (auto const& entry : std::filesystem::directory_iterator(path, absent))
            if (entry.path().extension() == ".root")
                files.push_back(storage::open_file_storage(entry.path(), storage::OpenMode::read_only));
    }
    return files;
}

TEST(TfileReading, FilesOfOthers) {
    auto const files = real_files();
    if (files.empty()) GTEST_SKIP() << "no real files: set THALWEG_DATA";
    for (auto const& file : files) {
        auto const keys = read_keys(*file);
        EXPECT_FALSE(keys.empty()) << file->path();
        for (auto const& key : keys) {
            EXPECT_EQ(read_object(*file, key).size(), key.object_bytes) << file->path() << " " << key.path;
            if (key.class_name == "ROOT::RNTuple") {
                EXPECT_EQ(key.object_bytes, kAnchorBytes) << file->path();
            }
        }
    }
}

TEST(TfileReading, DamagedFilesOfOthers) {
    auto const files = real_files();
    if (files.empty()) GTEST_SKIP() << "no real files: set THALWEG_DATA";
    for (auto const& file : files) {
        if (file->size() > 10'000) continue;
        Bytes bytes(file->size());
        file->read(0, bytes);
        read_damaged(bytes, 300, bytes.size());
    }
}

// ROOT's own streamer info, where it describes the class as we do.
TEST(TfileReading, OurStreamerInfoIsRoots) {
    std::size_t compared = 0;
    for (auto const& file : real_files()) {
        if (!file->path().ends_with("rntviewer-testfile-multiple-rntuples-v1-0-0-0.root")) continue;
        Bytes bytes(file->size());
        file->read(0, bytes);
        BigTaker from(bytes, file->path());
        auto const head = take_file_head(from);
        from = BigTaker(std::span(bytes).subspan(head.streamers_offset), file->path());
        auto const key = take_key(from);
        EXPECT_EQ(read_object(*file, {.offset = key.offset,
                                      .key_bytes = key.key_bytes,
                                      .stored_bytes = std::uint64_t{key.record_bytes} - key.key_bytes,
                                      .object_bytes = key.object_bytes}),
                  streamer_info(key.key_bytes));
        ++compared;
    }
    if (compared == 0) GTEST_SKIP() << "no real files: set THALWEG_DATA";
}

} // namespace
} // namespace thalweg::format::rntuple
