#include "thalweg/readout/seal.h"

#include <gtest/gtest.h>

namespace thalweg::readout {
namespace {

// echo 000102030405060708090a0b0c0d0e0f | xxd -r -p | sha256sum: be45cb2605bf36bebde684841a28f0fd...
TEST(Seal, IsTheBeginningOfTheSha256OfTheKey) {
    RangeKey const key{0x0706050403020100, 0x0F0E0D0C0B0A0908};
    EXPECT_EQ(seal_of(key), (RangeSeal{0xBE36BF0526CB45BE, 0xFDF0281A8484E6BD}));
}

TEST(Seal, NoTwoKeysAreAlike) { EXPECT_NE(random_key(), random_key()); }

} // namespace
} // namespace thalweg::readout
