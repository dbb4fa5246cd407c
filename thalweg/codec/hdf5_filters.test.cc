#include "thalweg/codec/hdf5_filters.h"
#include "thalweg/base/error.h"

#include <gtest/gtest.h>

namespace thalweg::codec {
namespace {

using Values = std::vector<unsigned>;

std::vector<std::pair<unsigned, Values>> pipeline(char const* spec, std::size_t element_bytes) {
    std::vector<std::pair<unsigned, Values>> filters;
    for (Hdf5Filter const& one : filter_pipeline(Spec::parse(spec), element_bytes)) {
        EXPECT_FALSE(one.name.empty());
        filters.emplace_back(one.id, one.cd_values);
    }
    return filters;
}

TEST(Hdf5Filters, AreWhatStockReadersExpect) {
    using Filters = std::vector<std::pair<unsigned, Values>>;
    EXPECT_EQ(pipeline("none", 2), Filters{});
    EXPECT_EQ(pipeline("shuffle+deflate", 4), (Filters{{2, {4}}, {1, {1}}}));
    EXPECT_EQ(pipeline("lz4", 2), (Filters{{32004, {0}}}));
    EXPECT_EQ(pipeline("shuffle+zstd", 8), (Filters{{2, {8}}, {32015, {3}}}));
    EXPECT_EQ(pipeline("bitshuffle", 2), (Filters{{32008, {0, 4, 2, 0, 0}}}));
    EXPECT_EQ(pipeline("bitshuffle+lz4", 2), (Filters{{32008, {0, 4, 2, 0, 2}}}));
    EXPECT_EQ(pipeline("bitshuffle+zstd-7", 8), (Filters{{32008, {0, 4, 8, 0, 3, 7}}}));
    EXPECT_EQ(pipeline("bitshuffle+deflate-4", 2), (Filters{{32008, {0, 4, 2, 0, 0}}, {1, {4}}}));
}

TEST(Hdf5Filters, LeadBackToTheSpec) {
    for (char const* prefilter : {"", "shuffle+", "bitshuffle+"}) {
        for (char const* compression : {"none", "deflate", "deflate-9", "lz4", "zstd", "zstd-22"}) {
            Spec const spec = Spec::parse(std::string(prefilter) + compression);
            EXPECT_EQ(spec_of_filters(filter_pipeline(spec, 2), 2), spec) << spec.name();
        }
    }
}

TEST(Hdf5Filters, OfOtherWritersAreUnderstood) {
    EXPECT_EQ(spec_of_filters({{1, "", {1}}}, 2), Spec::parse("deflate"));
    EXPECT_EQ(spec_of_filters({{1, "", {0}}}, 2), Spec::parse("deflate"));
    EXPECT_EQ(spec_of_filters({{2, "", {}}, {32004, "", {65536}}}, 2), Spec::parse("shuffle+lz4"));
    EXPECT_EQ(spec_of_filters({{32015, "", {0xFFFFFFFB}}}, 2), Spec::parse("zstd")); // level -5
    EXPECT_EQ(spec_of_filters({{32008, "", {0, 3, 2}}}, 2), Spec::parse("bitshuffle"));
    EXPECT_EQ(spec_of_filters({{32008, "", {0, 4, 2, 4096, 2}}}, 2), Spec::parse("bitshuffle+lz4"));
}

TEST(Hdf5Filters, ThatNoSpecStandsForAreRefused) {
    std::vector<std::vector<Hdf5Filter>> const refused = {
        {{3, "", {}}},                                  // fletcher32
        {{32001, "blosc", {2, 2, 2, 0}}},               //
        {{1, "", {1}}, {2, "", {2}}},                   // shuffle behind a compression
        {{2, "", {2}}, {2, "", {2}}, {1, "", {1}}},     // twice
        {{1, "", {1}}, {32015, "", {3}}},               // two compressions
        {{2, "", {4}}},                                 // another element size
        {{32008, "", {0, 4}}},                          // cut short
        {{32008, "", {0, 4, 2, 0, 9}}},                 // unknown compression inside
        {{32008, "", {0, 4, 2, 64, 0}}},                // blocks that the page does not tell
        {{32008, "", {0, 4, 2, 0, 2}}, {1, "", {1}}},   // compressed twice
        {{32008, "", {0, 4, 2, 0, 0}}, {32004, "", {}}} // lz4 behind bitshuffle
    };
    for (auto const& filters : refused) EXPECT_THROW(spec_of_filters(filters, 2), base::DataError);
}

} // namespace
} // namespace thalweg::codec
