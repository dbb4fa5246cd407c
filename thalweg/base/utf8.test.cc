#include "thalweg/base/utf8.h"

#include <gtest/gtest.h>

namespace thalweg::base {
namespace {

TEST(Utf8, TextStaysAsItIs) {
    for (auto const* text :
         {"", "energy", "\u00b5s", "\u20ac and \U0001f600", "\uffff\U0010ffff\u0080\u0800\U00010000"}) {
        EXPECT_TRUE(is_utf8(text)) << text;
        EXPECT_EQ(readable(text), text);
    }
}

TEST(Utf8, BytesThatAreNoneAreShown) {
    EXPECT_EQ(readable("ta\xff"
                       "b"),
              "ta\\xffb");
    EXPECT_EQ(readable("\xc3"), "\\xc3");                   // cut
    EXPECT_EQ(readable("\xc3/"), "\\xc3/");                 // so a path reads as its names do
    EXPECT_EQ(readable("\xe2\x82"), "\\xe2\\x82");          // cut
    EXPECT_EQ(readable("\x80"), "\\x80");                   // without a beginning
    EXPECT_EQ(readable("\xc0\xaf"), "\\xc0\\xaf");          // longer than needed
    EXPECT_EQ(readable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf"); // longer than needed
    EXPECT_EQ(readable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
    EXPECT_EQ(readable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // half of a pair
    EXPECT_EQ(readable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // beyond the last
    EXPECT_EQ(readable("\xc2\xb5\xff\xc2\xb5"), "\u00b5\\xff\u00b5");
    EXPECT_FALSE(is_utf8("a\xff"));
}

} // namespace
} // namespace thalweg::base
