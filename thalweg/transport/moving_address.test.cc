#include "thalweg/transport/moving_address.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

TEST(MovingAddress, IsThatOfItsTextUntilAnotherOneIsFound) {
    MovingAddress by_number("127.0.0.3:7700"), by_name("localhost:7701");
    EXPECT_EQ(by_number.now().str(), "127.0.0.3:7700");
    EXPECT_EQ(by_name.now().port(), 7701);
    auto copy = by_name;
    for (int i = 0; i < 100; ++i) {
        by_number.look_up_again();
        by_name.look_up_again();
        copy.look_up_again();
    }
    EXPECT_EQ(by_number.now().str(), "127.0.0.3:7700");
    EXPECT_EQ(copy.now().port(), 7701);
    EXPECT_THROW(MovingAddress("no port"), base::UsageError);
}

TEST(MovingAddress, OnlyNamesMove) {
    for (auto const* const text : {"7700", "127.0.0.1:7700", "[::1]:7700"}) EXPECT_FALSE(names_host(text)) << text;
    for (auto const* const text : {"localhost:7700", "dh0.readout:7700", "1.2.3:4"}) {
        EXPECT_TRUE(names_host(text)) << text;
    }
}

} // namespace
} // namespace thalweg::transport
