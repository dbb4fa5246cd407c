#include "thalweg/felix/faults.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::felix {
namespace {

TEST(Faults, AreWrittenByName) {
    EXPECT_FALSE(parse_faults("").any());
    EXPECT_FALSE(parse_faults("crc=0").any());
    auto const some = parse_faults("missing=1e-4,crc=0.5,dead_link=1");
    EXPECT_TRUE(some.any());
    EXPECT_EQ(some.missing, 1e-4);
    EXPECT_EQ(some.crc, 0.5);
    EXPECT_EQ(some.dead_link, 1);
    EXPECT_EQ(some.late, 0);
    auto const all = parse_faults("all=1e-3,busy=0");
    EXPECT_EQ(all.missing, 1e-3);
    EXPECT_EQ(all.stuck_pointer, 1e-3);
    EXPECT_EQ(all.busy, 0);
}

TEST(Faults, ThatAreNoneAreRefused) {
    for (auto const* const text : {"crc", "crc=", "crc=x", "crc=2", "crc=-1", "crc=nan", "=1", ",", "crc=0.1x"}) {
        EXPECT_THROW(parse_faults(text), base::UsageError) << text;
    }
    try {
        parse_faults("crcs=0.1");
        FAIL();
    } catch (base::UsageError const& error) {
        EXPECT_NE(std::string_view(error.what()).find("garbage_block"), std::string_view::npos);
    }
}

} // namespace
} // namespace thalweg::felix
