#include "thalweg/derive/row_filter.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace thalweg::derive {
namespace {

// Arrays of two lists a row, and lists in these: values, and what is left of them row by row.
TEST(RowFilter, MasksReachIntoLists) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::uint64_t const rows = random() % 40;
        auto const share = random() % 5; // also none, and all
        std::vector<std::byte> mask(rows);
        std::vector<std::uint64_t> outer, inner, wanted_outer, wanted_inner;
        std::vector<std::uint32_t> values, wanted;
        for (std::uint64_t row = 0; row < rows; ++row) {
            bool const is_chosen = random() % 4 < share;
            mask[row] = std::byte(is_chosen ? 1 + random() % 255 : 0);
            for (int list = 0; list < 2; ++list) {
                outer.push_back(random() % 3);
                if (is_chosen) wanted_outer.push_back(outer.back());
                for (std::uint64_t i = 0; i < outer.back(); ++i) {
                    inner.push_back(random() % 4);
                    if (is_chosen) wanted_inner.push_back(inner.back());
                    for (std::uint64_t k = 0; k < inner.back(); ++k) {
                        values.push_back(static_cast<std::uint32_t>(random()));
                        if (is_chosen) wanted.push_back(values.back());
                    }
                }
            }
        }
        auto const chosen = chosen_rows(mask);
        auto const lists = chosen_elements(chosen, outer, 2);
        auto const elements = chosen_elements(lists, inner, 1);
        EXPECT_EQ(count_of(chosen) * 2, wanted_outer.size());
        auto const same = [](std::vector<std::byte> const& bytes, auto const& expected) {
            return bytes.size() == expected.size() * sizeof expected[0] &&
                   (bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
        };
        EXPECT_TRUE(same(chosen_bytes(chosen, std::as_bytes(std::span(outer)), 16), wanted_outer));
        EXPECT_TRUE(same(chosen_bytes(lists, std::as_bytes(std::span(inner)), 8), wanted_inner));
        EXPECT_TRUE(same(chosen_bytes(elements, std::as_bytes(std::span(values)), 4), wanted));
    }
}

TEST(RowFilter, StretchesThatTouchAreOne) {
    std::vector<std::uint64_t> const lengths{2, 0, 0, 3, 1};
    EXPECT_EQ(chosen_elements({{0, 1}, {3, 1}}, lengths, 1), (Chosen{{0, 5}}));
    EXPECT_EQ(chosen_elements({{1, 2}}, lengths, 1), Chosen{});
    EXPECT_EQ(chosen_elements({{4, 1}}, lengths, 1), (Chosen{{5, 1}}));
}

} // namespace
} // namespace thalweg::derive
