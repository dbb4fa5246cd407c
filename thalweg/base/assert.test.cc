#include "thalweg/base/assert.h"

#include <gtest/gtest.h>

namespace thalweg::base {
namespace {

int asked = 0;

bool answer(bool value) {
    ++asked;
    return value;
}

TEST(Assert, WhatHoldsIsAskedOnce) {
    asked = 0;
    THALWEG_ASSERT(answer(true), "it holds");
    EXPECT_EQ(asked, 1);
}

TEST(AssertDeathTest, WhatDoesNotHoldEndsTheProcessWithItsText) {
    EXPECT_DEATH(
        THALWEG_ASSERT(1 + 1 == 3, "sums are right"),
        "thalweg: sums are right \\([^ ]*base/assert.test.cc:[0-9]+, 1 \\+ 1 == 3\\): this is a fault in Thalweg");
}

TEST(AssertDeathTest, CostlyOnesAreAskedInTests) {
    EXPECT_TRUE(costly_assertions) << "every test binary is linked with what sets it";
    EXPECT_DEATH(THALWEG_ASSERT_COSTLY(false, "it is looked at"), "it is looked at");
}

TEST(Assert, CostlyOnesAreNotAskedIfTheyAreOff) {
    auto const before = costly_assertions.exchange(false);
    asked = 0;
    THALWEG_ASSERT_COSTLY(answer(false), "it is not looked at");
    EXPECT_EQ(asked, 0);
    costly_assertions = before;
}

} // namespace
} // namespace thalweg::base
