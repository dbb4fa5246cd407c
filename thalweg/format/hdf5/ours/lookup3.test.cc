#include "thalweg/format/hdf5/ours/lookup3.h"

#include <gtest/gtest.h>
#include <string_view>

namespace thalweg::format::hdf5::ours {
namespace {

std::uint32_t of(std::string_view text) { return lookup3(std::as_bytes(std::span(text))); }

// The values that its author gives for `hashlittle`.
TEST(Lookup3, HasTheValuesOfItsAuthor) {
    EXPECT_EQ(of(""), 0xdeadbeefu);
    EXPECT_EQ(of("Four score and seven years ago"), 0x17770551u);
}

} // namespace
} // namespace thalweg::format::hdf5::ours
