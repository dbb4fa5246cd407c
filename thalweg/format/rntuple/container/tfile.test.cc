#include "thalweg/format/rntuple/container/tfile.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/container/tfile_streamers.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSeconds = 1'790'000'000; // 2026-09-21T14:13:20Z

std::string hex(std::span<std::byte const> bytes) {
    std::string text;
    for (auto const byte : bytes) {
        auto const value = std::to_integer<unsigned>(byte);
        for (auto const digit : {value >> 4, value & 15}) text += "0123456789abcdef"[digit];
    }
    return text;
}

std::string hex(Bytes const& bytes, std::uint64_t offset, std::size_t count) {
    return hex(std::span(bytes).subspan(offset, count));
}

// Without the blanks, which are for people.
std::string digits(std::string text) {
    std::erase(text, ' ');
    return text;
}

template <class Record> Bytes bytes_of(Record const& record) {
    BigPutter to;
    put(to, record);
    return to.release();
}

Bytes header_of(std::size_t bytes) { return Bytes(bytes, std::byte{0x5a}); }

Skeleton tiny() {
    return make_skeleton("run.root", {{"ch0/raw", "ADC", header_of(20)}}, {"thalweg", "{}"}, "seed", kSeconds);
}

// Key by key from 100 on; they must follow each other, tell their own place, and end where the bytes end.
std::vector<KeyHead> walk(Bytes const& bytes) {
    std::vector<KeyHead> keys;
    std::uint64_t offset = kBegin;
    while (offset < bytes.size()) {
        BigTaker from{std::span(bytes).subspan(offset), "walk", offset};
        keys.push_back(take_key(from));
        EXPECT_EQ(keys.back().offset, offset);
        EXPECT_EQ(keys.back().key_bytes, from.position());
        auto const raw_bytes = keys.back().key_bytes + keys.back().object_bytes;
        bool const is_compressed = keys.back().class_name == "TObjString" && keys.back().record_bytes < raw_bytes;
        EXPECT_TRUE(is_compressed || keys.back().record_bytes == raw_bytes);
        offset += keys.back().record_bytes;
    }
    EXPECT_EQ(offset, bytes.size());
    return keys;
}

FileHead head_of(Bytes const& bytes) {
    BigTaker from(bytes, "head");
    return take_file_head(from);
}

TEST(Tfile, RecordsHaveTheirSizes) {
    EXPECT_EQ(bytes_of(FileHead{}).size(), kBegin);
    EXPECT_EQ(bytes_of(DirectoryRecord{}).size(), kDirectoryBytes);
    KeyHead const blob{.class_name = "RBlob", .name = "", .title = ""};
    EXPECT_EQ(bytes_of(blob).size(), kBlobHeadBytes);
    EXPECT_EQ(size_of(blob), kBlobHeadBytes);
}

TEST(Tfile, TheBeginningIsByteExact) {
    auto const bytes = tiny().bytes;
    ASSERT_EQ(bytes.size(), base::kBlockBytes);
    EXPECT_EQ(hex(bytes, 0, 100), digits("726f6f74 00103ab0 00000064"         // "root", version, begin
                                         "0000000000001000"                   // end
                                         "0000000000000fbc 00000044 00000001" // free list: offset, bytes, entries
                                         "0000003c 08 00000000"               // bytes of name, of offsets; compression
                                         "00000000000000dc 0000052e"          // streamer info: offset, bytes
                                         "0001 453e973ab0fd856195f03a820a749bb5" // UUID
                                         "00000000000000000000000000000000000000000000000000"));
    EXPECT_EQ(hex(bytes, 100, 50), digits("00000078 03ec 00000046 7e6ae354"       // bytes, version, of the object; date
                                          "0032 0001"                             // bytes of the head, cycle
                                          "0000000000000064 0000000000000000"     // offset, directory
                                          "055446696c65 0872756e2e726f6f74 00")); // class, name, title
    EXPECT_EQ(hex(bytes, 150, 70), digits("0872756e2e726f6f74 00"                 // name and title again
                                          "03ed 7e6ae354 7e6ae354"                // version, created, modified
                                          "000000b9 0000003c"                     // bytes of the key list, of the name
                                          "0000000000000064 0000000000000000"     // offset, parent
                                          "00000000000007a0"                      // offset of the key list
                                          "0001 453e973ab0fd856195f03a820a749bb5"));
    EXPECT_EQ(hex(bytes, 1952 + 50, 4 + 34), digits("00000002" // keys; the first: directory ch0
                                                    "00000071 03ec 0000003c 7e6ae354"
                                                    "0035 0001 000000000000060a 0000000000000064"));
    EXPECT_EQ(hex(bytes, 4096 - 18, 18), digits("03e9 0000000000001000 0000000077359400")); // free: from the end to 2e9
}

TEST(Tfile, KeysComeInTheirOrderAndHoldEveryByte) {
    auto const skeleton = tiny();
    std::vector<std::string> names;
    for (auto const& key : walk(skeleton.bytes)) names.push_back(key.class_name + ":" + key.name);
    EXPECT_EQ(names, (std::vector<std::string>{"TFile:run.root", "TList:StreamerInfo", "TDirectory:ch0",
                                               "RBlob:", "ROOT::RNTuple:raw", "TObjString:thalweg", "TFile:run.root",
                                               "TDirectory:ch0", "RBlob:", "TFile:run.root"}));
    auto const& place = skeleton.tables.at(0);
    EXPECT_EQ(hex(skeleton.bytes, place.header_offset, place.header_bytes), hex(header_of(20)));
    EXPECT_EQ(hex(skeleton.bytes, place.anchor_offset, kAnchorBytes), std::string(2 * kAnchorBytes, '0'));
}

TEST(Tfile, TheSameArgumentsGiveTheSameBytes) {
    EXPECT_EQ(tiny().bytes, tiny().bytes);
    auto const other =
        make_skeleton("run.root", {{"ch0/raw", "ADC", header_of(20)}}, {"thalweg", "{}"}, "other", kSeconds);
    EXPECT_NE(other.bytes, tiny().bytes);
}

TEST(Tfile, AnchorsLieWithinOneSectorAndAllIsWalkableWhateverTheSizes) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<TableSkeleton> tables;
        for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
            auto const folder = random() % 2 == 0 ? "" : std::string(1 + random() % 300, 'd') + "/";
            tables.push_back({folder + std::string(random() % 300, 'n') + std::to_string(i),
                              std::string(random() % 1200, 't'), header_of(random() % 700)});
        }
        NamedText const text{"thalweg", std::string(random() % 5000, 'j')};
        auto const skeleton = make_skeleton(std::string(random() % 300, 'f'), tables, text, "seed", kSeconds);
        EXPECT_EQ(skeleton.bytes.size() % base::kBlockBytes, 0u);
        EXPECT_EQ(head_of(skeleton.bytes).end, skeleton.bytes.size());
        for (auto const& place : skeleton.tables)
            EXPECT_LE(place.anchor_offset % kSectorBytes, kSectorBytes - kAnchorBytes);
        walk(skeleton.bytes);
        auto const file = storage::make_memory_storage("file");
        file->write(0, skeleton.bytes);
        auto const keys = read_keys(*file);
        EXPECT_EQ(read_text(*file, *std::ranges::find(keys, "thalweg", &FileKey::path)), text.text);
    }
}

TEST(Tfile, RefusesNamesThatRootCannotHold) {
    auto const refused = [](std::vector<std::string> const& names) {
        std::vector<TableSkeleton> tables;
        for (auto const& name : names) tables.push_back({name, "", {}});
        EXPECT_THROW(make_skeleton("f", tables, {"thalweg", ""}, "", 0), base::UsageError) << names[0];
    };
    for (auto const* name : {"", "/", "a/", "/a", "a//b", ".", "a/..", "a;1", "a\nb", "thalweg"}) refused({name});
    refused({"a", "a"});
    refused({"a", "a/b"});
    refused({"thalweg/b"});
    refused({std::string(30'001, 'n')});
    refused({std::string(1'025, 'n') + "/a"});
    EXPECT_NO_THROW(make_skeleton("f", {{std::string(30'000, 'n'), "", {}}}, {"thalweg", ""}, "", 0));
}

TEST(Tfile, AnEndingRefersToWhatItAppends) {
    auto const skeleton = tiny();
    auto const ending = make_ending(skeleton.bytes, {"thalweg", "{\"rows\":3}"}, 8192, kSeconds + 60);
    EXPECT_EQ(ending.file_bytes, 8192 + ending.appended.size());
    ASSERT_EQ(ending.first_sector.size(), kSectorBytes);
    auto const head = head_of(ending.first_sector);
    EXPECT_EQ(head.end, ending.file_bytes);
    EXPECT_EQ(head.free_offset + head.free_bytes, ending.file_bytes);

    auto file = skeleton.bytes;
    file.resize(8192);
    write_blob_head(std::span(file).subspan(4096), 4096, kSeconds);
    file.insert(file.end(), ending.appended.begin(), ending.appended.end());
    std::ranges::copy(ending.first_sector, file.begin());
    auto const keys = walk(file);
    EXPECT_EQ(keys[keys.size() - 3].name, "thalweg");
    EXPECT_EQ(keys[keys.size() - 3].cycle, 2);

    // What changes in the first sector: end, free list, date and key list. UUIDs stay.
    std::size_t changed = 0;
    for (std::size_t i = 0; i < kSectorBytes; ++i)
        if (ending.first_sector[i] != skeleton.bytes[i]) changed += i < 40 || (i >= 166 && i < 202) ? 1 : kSectorBytes;
    EXPECT_GT(changed, 0u);
    EXPECT_LT(changed, kSectorBytes);
    EXPECT_THROW(make_ending(skeleton.bytes, {"other", ""}, 8192, 0), base::DataError);
    EXPECT_THROW(make_ending(header_of(4096), {"thalweg", ""}, 8192, 0), base::DataError);
}

TEST(Tfile, AnEndingOfADamagedSkeletonIsMadeOrRefused) {
    std::mt19937 random(3);
    auto const skeleton = tiny().bytes;
    for (int round = 0; round < 3'000; ++round) {
        auto damaged = skeleton;
        damaged[random() % 2'200] = static_cast<std::byte>(random());
        if (round % 3 == 0) damaged.resize(random() % damaged.size());
        try {
            auto const ending = make_ending(damaged, {"thalweg", ""}, 8192, kSeconds);
            EXPECT_EQ(ending.first_sector.size(), kSectorBytes);
        } catch (base::DataError const&) {
        }
    }
}

TEST(Tfile, ABlobBeginsWithItsKey) {
    Bytes blob(100);
    write_blob_head(blob, 0x1'2345'6789, kSeconds);
    EXPECT_EQ(hex(blob, 0, kBlobHeadBytes), digits("00000064 03ec 0000003a 7e6ae354 002a 0001"
                                                   "0000000123456789 0000000000000064"
                                                   "0552426c6f62 00 00"));
    EXPECT_THROW(write_blob_head(std::span(blob).first(kBlobHeadBytes - 1), 0, 0), base::UsageError);
}

TEST(Tfile, DatesArePackedToTheSecond) {
    EXPECT_EQ(packed_date(kSeconds), 0x7e6ae354u);
    EXPECT_EQ(packed_date(kSeconds) >> 26, 2026u - 1995u);
    EXPECT_EQ(packed_date(0), 1u << 22 | 1u << 17); // before ROOT's years: the first of January of the first
}

} // namespace
} // namespace thalweg::format::rntuple
