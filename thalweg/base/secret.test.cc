#include "thalweg/base/secret.h"

#include <gtest/gtest.h>

namespace thalweg::base {
namespace {

TEST(Secret, OnlyItselfIsTheSame) {
    EXPECT_TRUE(same_secret("sesame", "sesame"));
    EXPECT_TRUE(same_secret("", ""));
    for (std::string_view const wrong : {"", "s", "sesam", "sesamE", "Sesame", "sesamesesame", "sesame "}) {
        EXPECT_FALSE(same_secret(wrong, "sesame")) << wrong;
    }
    EXPECT_FALSE(same_secret({"sesame\0", 7}, "sesame"));
    EXPECT_FALSE(same_secret({"\0", 1}, ""));
}

} // namespace
} // namespace thalweg::base
