#include "thalweg/base/units.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/base/exact_text.h"

namespace thalweg::base {
namespace {

TEST(Units, SizesAreReadAsPeopleWriteThem) {
    EXPECT_EQ(parse_size_bytes("0"), 0u);
    EXPECT_EQ(parse_size_bytes("17B"), 17u);
    EXPECT_EQ(parse_size_bytes("2GB"), 2'000'000'000u);
    EXPECT_EQ(parse_size_bytes("256MiB"), 256 * kMiB);
    EXPECT_EQ(parse_size_bytes("256 MiB"), 256 * kMiB);
    EXPECT_EQ(parse_size_bytes("1.5k"), 1500u);
    EXPECT_EQ(parse_size_bytes("1e6"), 1'000'000u);
    EXPECT_EQ(parse_size_bytes("16TiB"), 16 * 1024 * kGiB);
}

TEST(Units, WhatIsNoSizeIsRefusedAndQuoted) {
    for (auto const* const text : {"", " ", "MB", "-1", "1 2", "1Mb", "1MBB", "1/2", "nan", "inf", "1e99", "99999999TB",
                                   "0x10", "1,5GB", "+1"}) {
        try {
            parse_size_bytes(text);
            FAIL() << "'" << text << "' was taken";
        } catch (UsageError const& error) {
            EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos);
        }
    }
}

TEST(Units, DurationsAreInSecondsUnlessTheySayOtherwise) {
    EXPECT_EQ(parse_duration_ns("10"), 10'000'000'000u);
    EXPECT_EQ(parse_duration_ns("10s"), 10'000'000'000u);
    EXPECT_EQ(parse_duration_ns("500ms"), 500'000'000u);
    EXPECT_EQ(parse_duration_ns("3us"), 3'000u);
    EXPECT_EQ(parse_duration_ns("7ns"), 7u);
    EXPECT_EQ(parse_duration_ns("2min"), 120'000'000'000u);
    EXPECT_EQ(parse_duration_ns("1.5h"), 5400'000'000'000u);
    EXPECT_EQ(parse_duration_ns("1d"), 86400'000'000'000u);
    EXPECT_EQ(parse_duration_ns("1h30m"), 5400'000'000'000u);
    EXPECT_EQ(parse_duration_ns("1 h 30 min"), 5400'000'000'000u);
    EXPECT_EQ(parse_duration_ns("2d 1h 5m 30.5s"), ((49 * 60 + 5) * 60 + 30) * 1'000'000'000ull + 500'000'000);
    for (auto const* const text : {"1h30", "30m1h", "1h1h", "1h-30m", "1h30q", "1d1e30s"}) {
        EXPECT_THROW(parse_duration_ns(text), UsageError) << text;
    }
    for (auto const* const text : {"", "s", "1 week", "-1s", "1m", "1e30"}) {
        EXPECT_THROW(parse_duration_ns(text), UsageError) << text;
    }
}

TEST(Units, ExactTextsAreParsedToTheSameValue) {
    EXPECT_EQ(exact_size(0), "0 B");
    EXPECT_EQ(exact_size(1000), "1000 B");
    EXPECT_EQ(exact_size(64 * kMiB), "64 MiB");
    EXPECT_EQ(exact_size(kGiB + kKiB), "1048577 KiB");
    EXPECT_EQ(exact_size(1ull << 50), "1024 TiB");
    EXPECT_EQ(exact_duration(0), "0 ns");
    EXPECT_EQ(exact_duration(1'000'000'000), "1 s");
    EXPECT_EQ(exact_duration(500'000'000), "500 ms");
    EXPECT_EQ(exact_duration(90'000'000'000), "90 s");
    for (std::uint64_t value : {0ull, 1ull, 1000ull, 1024ull, 123'456'789ull, 3'600'000'000'000ull, 1ull << 50}) {
        EXPECT_EQ(parse_size_bytes(exact_size(value)), value);
        EXPECT_EQ(parse_duration_ns(exact_duration(value)), value);
    }
}

TEST(Units, BytesAreShownWithThreeDigitsOrSo) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(999), "999 B");
    EXPECT_EQ(format_bytes(1000), "1.00 kB");
    EXPECT_EQ(format_bytes(1.5e9), "1.50 GB");
    EXPECT_EQ(format_bytes(999.6e6), "1.00 GB");
    EXPECT_EQ(format_bytes(2e18), "2000.00 PB");
}

TEST(Units, RoundingGoesToMultiples) {
    EXPECT_EQ(round_up(0, 4096), 0u);
    EXPECT_EQ(round_up(1, 4096), 4096u);
    EXPECT_EQ(round_up(4096, 4096), 4096u);
    EXPECT_EQ(round_up(10, 3), 12u);
    EXPECT_EQ(round_down(4095, 4096), 0u);
    EXPECT_EQ(round_down(11, 3), 9u);
}

} // namespace
} // namespace thalweg::base
