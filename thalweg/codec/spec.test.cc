#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

#include <gtest/gtest.h>

namespace thalweg::codec {
namespace {

TEST(Spec, ParsesWhatPeopleWrite) {
    EXPECT_EQ(Spec::parse("none"), Spec{});
    EXPECT_EQ(Spec::parse("lz4"), (Spec{Prefilter::none, Compression::lz4}));
    EXPECT_EQ(Spec::parse("shuffle+deflate-1"), (Spec{Prefilter::shuffle, Compression::deflate, 1}));
    EXPECT_EQ(Spec::parse("bitshuffle+zstd-22"), (Spec{Prefilter::bitshuffle, Compression::zstd, 22}));
    EXPECT_EQ(Spec::parse("bitshuffle"), (Spec{Prefilter::bitshuffle, Compression::none}));
    EXPECT_EQ(Spec::parse("shuffle+none"), Spec::parse("shuffle"));
}

TEST(Spec, NameIsParsedBackToTheSame) {
    for (char const* prefilter : {"", "shuffle+", "bitshuffle+"}) {
        for (char const* compression : {"deflate", "deflate-9", "lz4", "zstd", "zstd-1", "zstd-22"}) {
            std::string const name = std::string(prefilter) + compression;
            EXPECT_EQ(Spec::parse(name).name(), name);
        }
    }
    for (char const* name : {"none", "shuffle", "bitshuffle"}) EXPECT_EQ(Spec::parse(name).name(), name);
}

TEST(Spec, RefusesAnythingElse) {
    for (char const* text : {"", "gzip", "LZ4", "lz4-1", "none-1", "deflate-0", "deflate-10", "zstd-23", "zstd-",
                             "zstd--3", "zstd-3x", "zstd-99999999999", "shuffle+", "+lz4", "shuffle+shuffle+lz4",
                             "shufflelz4", "bitshuffle+lz4 ", "lz4+shuffle"}) {
        EXPECT_THROW(Spec::parse(text), base::UsageError) << text;
    }
}

TEST(Spec, TheErrorListsWhatThereIs) {
    try {
        Spec::parse("deflate-12");
        FAIL();
    } catch (base::UsageError const& error) {
        std::string const message = error.what();
        EXPECT_NE(message.find("deflate-12"), message.npos);
        EXPECT_NE(message.find("1 to 9"), message.npos);
        EXPECT_NE(message.find("zstd"), message.npos);
    }
}

} // namespace
} // namespace thalweg::codec
