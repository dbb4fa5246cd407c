#include "thalweg/source/raw/framing.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/source/raw/testing.h"

namespace thalweg::source::raw {
namespace {

using namespace testing;

// The rows that a framer finds if the bytes come in pieces of this size: what a row has behind its sync word.
std::vector<Content> rows_in(Framer& framer, Row const& row, Content const& bytes, std::size_t piece,
                             bool is_end = true) {
    auto const fixed_bytes = shape_of(row).fixed_bytes;
    std::vector<Content> rows;
    Content there;
    for (std::size_t at = 0; at < bytes.size() || at == 0;) {
        auto const next = std::min(piece, bytes.size() - at);
        there.insert(there.end(), bytes.begin() + at, bytes.begin() + at + next);
        at += std::max<std::size_t>(next, 1);
        for (;;) {
            auto const found = framer.find(there, is_end && at >= bytes.size(), 3);
            if (found.bytes == 0) break;
            for (std::size_t i = 0; i < found.rows; ++i) {
                auto const begin = found.frames.empty() ? i * fixed_bytes : found.frames[i].offset;
                auto const last = found.frames.empty() || i + 1 == found.rows;
                auto const end = found.frames.empty() ? begin + fixed_bytes
                                 : last               ? found.bytes
                                                      : found.frames[i + 1].offset;
                rows.emplace_back(there.begin() + begin, there.begin() + end);
            }
            there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(found.bytes));
        }
    }
    return rows;
}

struct Case {
    Content bytes;
    std::vector<Content> rows;
    std::uint64_t cut = 0, bad_lengths = 0, garbage = 0;
};

void expect(Row const& row, Case const& expected) {
    for (std::size_t piece = 1; piece <= expected.bytes.size() + 1; ++piece) {
        Framer framer(row);
        EXPECT_EQ(rows_in(framer, row, expected.bytes, piece), expected.rows) << "pieces of " << piece;
        EXPECT_EQ(framer.cut_rows(), expected.cut) << "pieces of " << piece;
        EXPECT_EQ(framer.bad_lengths(), expected.bad_lengths) << "pieces of " << piece;
        EXPECT_EQ(framer.garbage_bytes(), expected.garbage) << "pieces of " << piece;
        if (::testing::Test::HasFailure()) return;
    }
}

Content joined(std::vector<Content> const& parts) {
    Content all;
    for (auto const& part : parts) put(all, part);
    return all;
}

Content begin_of(Content const& bytes, std::size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Content> numbered(std::uint32_t first, std::uint32_t last) {
    std::vector<Content> rows;
    for (auto i = first; i <= last; ++i) rows.push_back(synced(i));
    return rows;
}

TEST(Framing, SoundRowsComeInAnyPieces) {
    expect(synced_row(), {joined(numbered(1, 9)), numbered(1, 9)});
    std::vector<Content> lists;
    for (std::uint16_t items = 0; items < 7; ++items) lists.push_back(listed(items));
    expect(listed_row(), {joined(lists), lists});
}

TEST(Framing, GarbageIsSkippedAndCounted) {
    auto const first = joined(numbered(1, 2)), rest = joined(numbered(3, 5));
    expect(synced_row(), {joined({text("garbage"), first, rest}), numbered(1, 5), 0, 0, 7});
    expect(synced_row(), {joined({first, text("xyz"), rest}), numbered(1, 5), 0, 0, 3});
    expect(synced_row(), {joined({first, text("a longer one than a row has")}), numbered(1, 2), 0, 0, 27});
}

TEST(Framing, ASyncWordInGarbageIsNoRow) {
    Content false_one;
    put(false_one, kSync);
    put(false_one, text("0123456789"));
    auto const first = joined(numbered(1, 2)), rest = joined(numbered(3, 5));
    expect(synced_row(), {joined({text("?"), false_one, rest}), numbered(3, 5), 0, 0, 15});
    expect(synced_row(), {joined({first, text("?"), false_one, rest}), numbered(1, 5), 0, 0, 15});
}

TEST(Framing, ACutRowIsLeftOutWhereverItIsCut) {
    auto const whole = synced(77);
    auto const first = joined(numbered(1, 2)), rest = joined(numbered(3, 5));
    for (std::size_t bytes = 4; bytes < whole.size(); ++bytes)
        expect(synced_row(), {joined({first, begin_of(whole, bytes), rest}), numbered(1, 5), 1, 0, 0});
    for (std::size_t bytes = 1; bytes < 4; ++bytes) // too little for a row
        expect(synced_row(), {joined({first, begin_of(whole, bytes), rest}), numbered(1, 5), 0, 0, bytes});
}

TEST(Framing, ASyncWordInTheValuesOfARowDoesNotCutIt) {
    auto const row = Row{
        .fields = {{.name = "sync", .role = RowField::Role::sync, .scalar = model::Scalar::uint32, .sync_value = kSync},
                   {.name = "value", .scalar = model::Scalar::uint64}}};
    std::vector<Content> rows;
    for (std::uint64_t i = 0; i < 5; ++i) {
        put(rows.emplace_back(), kSync);
        put(rows.back(), i % 2 == 0 ? std::uint64_t{kSync} << 8 * (i / 2) : i);
    }
    expect(row, {joined(rows), rows});
}

TEST(Framing, ARowComesBeforeTheNextOneHasBegun) {
    Framer framer(synced_row());
    EXPECT_EQ(rows_in(framer, synced_row(), synced(5), 10, false), numbered(5, 5));
}

TEST(Framing, LengthsThatLieAreCountedAndTheNextRowsAreFound) {
    auto const with_length = [](std::uint16_t length) {
        Content bytes;
        put(bytes, kSync), put(bytes, length), put(bytes, text("1234"));
        return bytes;
    };
    auto const before = listed(3), after = joined({listed(4), listed(1)});
    std::vector<Content> const rows{listed(3), listed(4), listed(1)};
    expect(listed_row(), {joined({before, with_length(60'000), after}), rows, 0, 1, 10}); // above max_row_bytes
    expect(listed_row(), {joined({before, with_length(7), after}), rows, 1, 0, 0});       // into the next rows
    // A whole row of 3 bytes is shorter than its header; one that says 8 bytes leads to no sync word.
    auto const whole = [](Content row) {
        std::uint16_t const bytes = static_cast<std::uint16_t>(row.size());
        std::memcpy(row.data() + 4, &bytes, sizeof bytes);
        return row;
    };
    std::vector<Content> const whole_rows{whole(listed(3)), whole(listed(4)), whole(listed(1))};
    auto const around = [&](std::uint16_t length) {
        return joined({whole_rows[0], with_length(length), whole_rows[1], whole_rows[2]});
    };
    expect(listed_row(Row::LengthOf::whole_row), {around(0), whole_rows, 0, 1, 10});
    expect(listed_row(Row::LengthOf::whole_row), {around(3), whole_rows, 0, 1, 10});
    expect(listed_row(Row::LengthOf::bytes),
           {joined({with_length(4), with_length(4)}), {with_length(4), with_length(4)}});
}

TEST(Framing, ALengthThatLiesToTheLastByteHidesNoRow) {
    Content liar;
    put(liar, kSync), put(liar, std::uint16_t{400}), put(liar, text("ab"));
    expect(listed_row(), {joined({listed(2), liar, listed(5), listed(1)}), {listed(2), listed(5), listed(1)}, 1, 0, 0});
}

TEST(Framing, ALengthThatLeadsOverRowsToALaterOneByChanceHidesNoRow) {
    Content liar;
    put(liar, kSync), put(liar, std::uint16_t{11}); // 22 bytes: 2 of its own, and the next row
    put(liar, text("ab"));
    ASSERT_EQ(listed(7).size(), 20u);
    expect(listed_row(), {joined({listed(2), liar, listed(7), listed(1)}), {listed(2), listed(7), listed(1)}, 1, 0, 0});
}

TEST(Framing, WithoutASyncWordALengthThatLiesIsAnErrorThatNamesTheField) {
    auto row = listed_row();
    row.fields.erase(row.fields.begin());
    Framer framer(row);
    Content bytes;
    put(bytes, std::uint16_t{1}), put(bytes, std::uint16_t{7}), put(bytes, std::uint16_t{60'000});
    EXPECT_EQ(framer.find(bytes, false, 10).rows, 1u);
    try {
        framer.find(std::span(bytes).subspan(4), false, 10);
        FAIL();
    } catch (base::DataError const& error) {
        EXPECT_NE(std::string(error.what()).find("field 'length' is 60000"), std::string::npos) << error.what();
    }
}

TEST(Framing, WhatIsLeftAtTheEndIsLeft) {
    Framer framer(synced_row());
    auto const bytes = joined({synced(1), begin_of(synced(2), 6)});
    auto const found = framer.find(bytes, true, 10);
    EXPECT_EQ(found.rows, 1u);
    EXPECT_EQ(framer.find(std::span(bytes).subspan(found.bytes), true, 10).bytes, 0u);
}

} // namespace
} // namespace thalweg::source::raw
