// What a page is encoded to follows from the page: not from what was encoded before, nor by whom.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <zstd.h>

#include "thalweg/codec/codec.h"
#include "thalweg/codec/compressor.h"
#include "thalweg/codec/plane_kind.h"
#include "thalweg/codec/testing.h"

namespace thalweg::codec {
namespace {

using namespace testing;

// Pages of one column whose nature changes, as from noise runs to beam: energies, zeros, counters, a pattern.
std::vector<Bytes> changing_pages(std::size_t page_bytes, std::size_t pages) {
    std::mt19937 random(11);
    std::exponential_distribution<float> energies(0.01f);
    std::vector<Bytes> all;
    for (std::size_t n = 0; n < pages; ++n) {
        auto& page = all.emplace_back(page_bytes);
        for (std::size_t at = 0; at < page_bytes; at += 4) {
            std::uint32_t word = 0;
            auto const energy = energies(random);
            std::memcpy(&word, &energy, 4);
            switch (n / 3 % 4) {
            case 0:
                break;
            case 1:
                word = random() % 16 == 0 ? word : 0;
                break;
            case 2:
                word = static_cast<std::uint32_t>(n * page_bytes + at);
                break;
            default:
                word = static_cast<std::uint32_t>(at % 92 * 0x01234567);
            }
            std::memcpy(page.data() + at, &word, 4);
        }
    }
    return all;
}

class Memory : public ::testing::TestWithParam<char const*> {};

TEST_P(Memory, PagesAreEncodedAlikeInAnyOrder) {
    for (std::size_t const page_bytes : {std::size_t{32} << 10, std::size_t{128} << 10}) {
        auto const pages = changing_pages(page_bytes, 40);
        auto const forth = make_codec(GetParam(), 4);
        std::vector<Bytes> stored;
        for (auto const& page : pages) stored.push_back(encoded(*forth, page));
        auto const back = make_codec(GetParam(), 4);
        for (auto i = pages.size(); i-- > 0;) {
            EXPECT_EQ(encoded(*back, pages[i]), stored[i]) << "page " << i << " of " << page_bytes << " bytes";
            EXPECT_EQ(encoded(*make_codec(GetParam(), 4), pages[i]), stored[i]) << "page " << i << ", alone";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Codecs, Memory,
                         ::testing::Values("bitshuffle+lz4", "bitshuffle+zstd-1", "shuffle+lz4", "lz4", "deflate-1",
                                           "shuffle+zstd-1", "root:splitreal32+zstd-1", "root:splitreal32+zstd-5",
                                           "root:splitreal32+lz4", "root:splituint32+deflate-1", "root:real32+zstd-1"));

// A plane of each nature: what is chosen by a look at it is nearly as small as the best of all ways.
TEST(PlaneKind, IsTheOneThatCompressesBest) {
    std::mt19937 random(5);
    std::geometric_distribution<int> small(0.3);
    std::normal_distribution<double> bell(128, 20);
    auto const plane_of = [&](auto const& value) {
        std::vector<std::byte> plane;
        for (std::size_t i = 0; i < 32768; ++i) plane.push_back(static_cast<std::byte>(value(i)));
        return plane;
    };
    std::vector<std::vector<std::byte>> const planes{
        plane_of([&](std::size_t) { return random() >> 5; }),                               // noise
        plane_of([&](std::size_t) { return small(random); }),                               // multiplicities
        plane_of([&](std::size_t) { return bell(random); }),                                // a peak
        plane_of([&](std::size_t i) { return i; }),                                         // a counter
        plane_of([&](std::size_t i) { return i / 256; }),                                   // its next byte
        plane_of([&](std::size_t) { return random() % 20 == 0 ? random() : 0; }),           // mostly zeros
        plane_of([&](std::size_t i) { return i % 640 < 64 ? i * 7919 : (i % 64) * 7919; }), // a pattern
        plane_of([&](std::size_t i) { return i % 100 < 90 ? 3 : random() % 4; }),           // few values
        plane_of([&](std::size_t) { return random() & 0xf0; }),                             // half noise
    };
    for (std::size_t n = 0; n < planes.size(); ++n) {
        auto const& plane = planes[n];
        std::vector<std::byte> out(ZSTD_compressBound(plane.size()));
        auto const literals = make_zstd_literals()->compress(plane, out);
        auto const matches = make_zstd(1)->compress(plane, out);
        auto const kind = kind_of_plane(plane);
        auto const chosen = kind == PlaneKind::noise ? plane.size() : kind == PlaneKind::literals ? literals : matches;
        auto const best = std::min({plane.size(), literals, matches});
        EXPECT_LE(chosen, best + plane.size() / 50)
            << "plane " << n << ": literals " << literals << ", matches " << matches;
    }
}

} // namespace
} // namespace thalweg::codec
