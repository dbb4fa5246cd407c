#include "thalweg/tuning/knobs.h"

#include <gtest/gtest.h>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/tuning/words.h"

namespace thalweg::tuning {
namespace {

// Fails to compile when a member comes or goes, and fails when it has no line in the table: every member is a knob.
TEST(Knobs, TheTableHasEveryMemberOfTheOptionsOnce) {
    Tuning tuning;
    std::multiset<void const*> members;
    auto const note = [&](auto const&... each) { (members.insert(&each), ...); };
    auto& [layout, write, commit, whole_file_checksum, memory_folder] = tuning;
    note(whole_file_checksum, memory_folder);
    auto& [wide, narrow, table, block, wide_codec, narrow_codec, cluster] = layout;
    note(wide, narrow, table, block, wide_codec, narrow_codec, cluster);
    auto& [engine, extent, depth, threads, staging, unbuffered] = write;
    note(engine, extent, depth, threads, unbuffered);
    auto& [page_ring, buffers, ring_size, memory] = staging;
    note(page_ring, buffers, ring_size, memory);
    auto& [interval, share, ahead, rows, units] = commit;
    note(interval, share, ahead, rows, units);

    std::multiset<void const*> places;
    for (auto const& each : knobs()) {
        std::visit([&](auto* place) { places.insert(&place(tuning)); }, each.place);
    }
    EXPECT_EQ(places, members);
}

TEST(Knobs, NamesAreDistinctAndSentencesAreSentences) {
    std::set<std::string_view> names;
    for (auto const& each : knobs()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_TRUE(each.about.ends_with('.')) << each.name;
        EXPECT_EQ(each.about.find('\n'), std::string_view::npos) << each.name;
    }
}

TEST(Knobs, DefaultsAreInTheirRanges) { EXPECT_NO_THROW(check(Tuning{})); }

TEST(Knobs, TextsOfAllValuesAreParsedToTheSameValues) {
    Tuning tuning;
    tuning.layout.narrow_page_bytes = 12'345;
    tuning.layout.wide_codec = "lz4";
    tuning.write.engine = storage::Engine::posix;
    tuning.write.staging.ring_size = 64;
    tuning.commit.flush_interval_ns = 12'345'678;
    tuning.commit.interim_footer_share = 0.1;
    tuning.whole_file_checksum = false;
    Tuning parsed;
    for (auto const& [name, text] : texts(tuning)) set(parsed, name, text);
    EXPECT_EQ(texts(parsed), texts(tuning));
    EXPECT_EQ(parsed.layout.narrow_page_bytes, 12'345u);
    EXPECT_EQ(parsed.commit.flush_interval_ns, 12'345'678u);
    EXPECT_EQ(parsed.write.engine, storage::Engine::posix);
    EXPECT_EQ(parsed.commit.interim_footer_share, 0.1);
    EXPECT_FALSE(parsed.whole_file_checksum);
}

TEST(Knobs, ValuesComeWithTheirUnits) {
    Tuning tuning;
    set(tuning, "extent_bytes", "4 MiB");
    EXPECT_EQ(tuning.write.extent_bytes, 4u << 20);
    set(tuning, "extent_bytes", "8192");
    EXPECT_EQ(tuning.write.extent_bytes, 8192u);
    set(tuning, "flush_interval", "0.5");
    EXPECT_EQ(tuning.commit.flush_interval_ns, 500'000'000u);
    set(tuning, "flush_interval", "20 ms");
    EXPECT_EQ(tuning.commit.flush_interval_ns, 20'000'000u);
    set(tuning, "whole_file_checksum", "no");
    EXPECT_FALSE(tuning.whole_file_checksum);
    set(tuning, "narrow_page_bytes", "1 KiB");
    set(tuning, "narrow_page_bytes", "auto");
    EXPECT_FALSE(tuning.layout.narrow_page_bytes.has_value());
}

std::string message_of(std::string_view name, std::string_view text) {
    Tuning tuning;
    try {
        set(tuning, name, text);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "taken";
}

TEST(Knobs, WhatIsWrongIsSaidWithNearMissesRangeAndUnit) {
    EXPECT_EQ(message_of("flush_intervall", "1 s"),
              "there is no knob 'flush_intervall' (did you mean 'flush_interval'?): `thalweg knobs` tells what each of "
              "them does");
    EXPECT_EQ(message_of("flush_interval", "5 MiB"),
              "the knob 'flush_interval' cannot be '5 MiB' (it is a time from 1 ms to 1 h): write it like '500 ms' or "
              "'2 s', or as a number of seconds");
    EXPECT_EQ(message_of("extent_bytes", "1"),
              "the knob 'extent_bytes' cannot be '1' (it is a size from 4 KiB to 1 GiB): write it like '64 MiB', or as "
              "a number of bytes");
    EXPECT_EQ(message_of("queue_depth", "1.5"),
              "the knob 'queue_depth' cannot be '1.5' (it is a whole number from 1 to 1024)");
    EXPECT_EQ(message_of("engine", "fast"), "the knob 'engine' cannot be 'fast' (it is auto, uring, threads or posix)");
    EXPECT_EQ(message_of("ring_size", "1000"),
              "the knob 'ring_size' cannot be '1000' (it is a power of two from 8 to 1048576)");
    EXPECT_EQ(message_of("whole_file_checksum", "maybe"),
              "the knob 'whole_file_checksum' cannot be 'maybe' (it is yes or no)");
    EXPECT_EQ(message_of("interim_footer_share", "nan"),
              "the knob 'interim_footer_share' cannot be 'nan' (it is a number from 0 to 100)");
    EXPECT_EQ(message_of("wide_page_bytes", "auto"),
              "the knob 'wide_page_bytes' cannot be 'auto' (it is a size from 1 B to 2 GiB): write it like '64 MiB', "
              "or as a number of bytes");
    EXPECT_NE(message_of("wide_codec", ""), "taken");
}

TEST(Knobs, MembersThatWereSetByHandAreChecked) {
    Tuning tuning;
    tuning.write.queue_depth = 0;
    EXPECT_THROW(check(tuning), base::UsageError);
}

TEST(Words, CarryWhatReachesEveryProcessAndNothingElse) {
    Tuning tuning;
    tuning.write = {storage::Engine::threads, 8192, 7, 3, {1 << 20, 5, 256}};
    tuning.commit.flush_interval_ns = 5'000'000;
    auto const carried = unpack(pack(tuning));
    auto expected = tuning;
    expected.commit = {};
    EXPECT_EQ(texts(carried), texts(expected));
}

TEST(Words, OfAnotherTableOrOutOfRangeAreRefused) {
    EXPECT_THROW(unpack(Words{}), base::UsageError);
    auto words = pack({});
    words[0] ^= 1;
    EXPECT_THROW(unpack(words), base::UsageError);
    Tuning wrong;
    wrong.write.staging.ring_size = 1000;
    EXPECT_THROW(unpack(pack(wrong)), base::UsageError);
}

} // namespace
} // namespace thalweg::tuning
