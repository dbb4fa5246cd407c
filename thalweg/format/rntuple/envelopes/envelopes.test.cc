#include "thalweg/format/rntuple/envelopes/envelopes.h"

#include <gtest/gtest.h>
#include <string_view>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/bytes.h"
#include "thalweg/format/rntuple/envelopes/test_descriptions.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

// Hexadecimal digits to bytes; spaces between them are for people.
Bytes from_hex(std::string_view text) {
    Bytes bytes;
    int high = -1;
    for (auto const character : text) {
        if (character == ' ') continue;
        auto const digit = character <= '9' ? character - '0' : character - 'a' + 10;
        if (high >= 0) bytes.push_back(static_cast<std::byte>(high << 4 | digit));
        high = high >= 0 ? -1 : digit;
    }
    return bytes;
}

// The golden bytes are made by hand from the specification, their checksums by another implementation of XXH3.

TEST(Envelopes, HeaderIsByteExact) {
    Header header{0, "t", "", "w", {}};
    header.schema.fields.push_back({0, 0, 0, FieldRole::leaf, "x", "float", "", "[ns]"});
    header.schema.columns.push_back({ColumnType::split_real32, 32, 0, 0, {}, {}});
    auto const bytes =
        from_hex("0100 9c0000000000"                             // type, length
                 "0000000000000000"                              // feature flags
                 "01000000 74 00000000 01000000 77"              // name, description, writer
                 "c2ffffffffffffff 01000000"                     // list of fields: 62 bytes, 1 item
                 "3200000000000000 00000000 00000000"            // record: 50 bytes; versions
                 "00000000 0000 0000"                            // parent, role, flags
                 "01000000 78 05000000 666c6f6174"               // name, type name
                 "00000000 04000000 5b6e735d"                    // alias, description
                 "e0ffffffffffffff 01000000"                     // list of columns: 32 bytes, 1 item
                 "1400000000000000 1800 2000 00000000 0000 0000" // type, bits, field, flags, representation
                 "f4ffffffffffffff 00000000"                     // no aliases
                 "f4ffffffffffffff 00000000"                     // no extra types
                 "d8f7520d956beeee");
    EXPECT_EQ(to_envelope(header), bytes);
    EXPECT_EQ(parse_header(bytes, "x"), header);
    EXPECT_EQ(envelope_checksum(bytes), 0xeeee6b950d52f7d8);
}

TEST(Envelopes, PageListIsByteExact) {
    PageList const list{0x1122334455667788, {{100, 3, {{{{3, true, {4096, 12}}}, 100, 505, false}}}}};
    auto const bytes = from_hex("0300 7c0000000000 8877665544332211"                 // type, length, header's checksum
                                "dcffffffffffffff 01000000"                          // summaries: 36 bytes, 1 item
                                "1800000000000000 6400000000000000 0300000000000000" // first entry, entries and flags
                                "c0ffffffffffffff 01000000"                          // clusters: 64 bytes, 1 item
                                "ccffffffffffffff 01000000"                          // columns: 52 bytes, 1 item
                                "d8ffffffffffffff 01000000"                          // pages: 40 bytes, 1 item
                                "fdffffff 0c000000 0010000000000000"                 // 3 elements, checked; locator
                                "6400000000000000 f9010000"                          // first element, compression
                                "be4d317ac929170b");
    EXPECT_EQ(to_envelope(list), bytes);
    EXPECT_EQ(parse_page_list(bytes, "x"), list);
}

TEST(Envelopes, FooterIsByteExact) {
    Footer const footer{0, 0x1122334455667788, {}, {{100, 3, 1, {114, {8192, 99}}}}};
    auto const bytes = from_hex("0200 940000000000 0000000000000000 8877665544332211" // flags, header's checksum
                                "3800000000000000"                                    // extension: 56 bytes
                                "f4ffffffffffffff 00000000 f4ffffffffffffff 00000000"
                                "f4ffffffffffffff 00000000 f4ffffffffffffff 00000000"
                                "c4ffffffffffffff 01000000" // groups: 60 bytes, 1 item
                                "3000000000000000 6400000000000000 0300000000000000 01000000"
                                "7200000000000000 63000000 0020000000000000" // length, size, offset of the page list
                                "8053fca47c9229a1");
    EXPECT_EQ(to_envelope(footer), bytes);
    EXPECT_EQ(parse_footer(bytes, "x"), footer);
}

TEST(Envelopes, AnchorIsByteExact) {
    Anchor const anchor{1, 0, 0, 1, 256, 200, 300, 4096, 80, 120, 1 << 30};
    auto const bytes = from_hex("40000042 0002 0001 0000 0000 0001" // byte count, class version, format version
                                "0000000000000100 00000000000000c8 000000000000012c" // header
                                "0000000000001000 0000000000000050 0000000000000078" // footer
                                "0000000040000000 706c238a2e69fa34");
    auto const made = to_bytes(anchor);
    EXPECT_EQ(Bytes(made.begin(), made.end()), bytes);
    EXPECT_EQ(parse_anchor(bytes, "x"), anchor);
}

TEST(Envelopes, WhatIsWrittenIsParsed) {
    RandomDescriptions random(1);
    for (int i = 0; i < 300; ++i) {
        auto const header = random.header();
        EXPECT_EQ(parse_header(to_envelope(header), "x"), header);
        auto const list = random.page_list();
        EXPECT_EQ(parse_page_list(to_envelope(list), "x"), list);
        auto const footer = random.footer();
        EXPECT_EQ(parse_footer(to_envelope(footer), "x"), footer);
    }
}

// The envelope with a checksum that fits what its bytes are now.
Bytes sealed(Bytes bytes) {
    put_number<std::endian::little>(bytes.data() + bytes.size() - 8,
                                    base::xxh3(std::span(bytes).first(bytes.size() - 8)));
    return bytes;
}

std::string refusal(auto const& parse) {
    try {
        parse();
    } catch (base::DataError const& error) {
        return error.what();
    }
    return "";
}

TEST(Envelopes, SaysWhatIsWrongAndWhere) {
    auto const bytes = to_envelope(Header{0, "t", "", "w", {}});
    auto const says = [](Bytes const& envelope, std::string const& words) {
        auto const text = refusal([&] { parse_header(envelope, "header of 't' in 'a.root' at 400"); });
        return text.find(words) != text.npos && text.find("header of 't' in 'a.root' at 400, byte ") != text.npos;
    };
    auto const changed = [&](std::size_t at, int value) {
        auto copy = bytes;
        copy[at] = static_cast<std::byte>(value);
        return copy;
    };
    EXPECT_TRUE(says(changed(20, 1), "checksum is wrong"));
    EXPECT_TRUE(says(sealed(changed(0, 2)), "type 2 where type 1 is expected"));
    EXPECT_TRUE(says(sealed(changed(2, 9)), "it says that it has 9 bytes"));
    EXPECT_TRUE(says(sealed(changed(8, 1)), "features that are not known here (flags 0x1)"));
    EXPECT_TRUE(says(sealed(changed(16, 255)), "255 bytes are wanted"));
    EXPECT_TRUE(says(sealed(changed(37, 0)), "this is no list"));
    EXPECT_TRUE(says(sealed(changed(38, 200)), "a list of 200 items does not fit"));

    Header header{0, "t", "", "w", {}};
    header.schema.columns.push_back({ColumnType::int8, 8, 0, 0, {}, {}});
    EXPECT_NE(refusal([&] { parse_header(to_envelope(header), "x"); }).find("a column belongs to a field that is not"),
              std::string::npos);
}

TEST(Envelopes, WhatNewerMinorVersionsAddIsSkipped) {
    Header header{0, "t", "", "w", {}};
    header.schema.fields.push_back({0, 0, 0, FieldRole::leaf, "x", "float"});
    // Eight bytes more behind the field's record, and in front of the checksum.
    auto bytes = to_envelope(header);
    auto const grow = [&](std::size_t at, int by) {
        auto const size = take_number<std::endian::little, std::int64_t>(bytes.data() + at);
        put_number<std::endian::little>(bytes.data() + at, size + by);
    };
    std::size_t const list = 16 + 5 + 4 + 5, record = list + 12, record_end = record + 8 + 32 + 1 + 5;
    bytes.insert(bytes.begin() + record_end, 8, std::byte{7});
    grow(list, -8);
    grow(record, 8);
    bytes.insert(bytes.end() - 8, 8, std::byte{7});
    grow(0, 16 << 16);
    EXPECT_EQ(parse_header(sealed(bytes), "x"), header);
}

TEST(Envelopes, LocatorsOfOtherKindsAreRefused) {
    auto bytes = to_envelope(Footer{0, 1, {}, {{0, 1, 1, {114, {8192, 99}}}}});
    put_number<std::endian::little>(bytes.data() + bytes.size() - 20, -(0x02 << 24 | 20));
    EXPECT_NE(refusal([&] { parse_footer(sealed(bytes), "x"); }).find("locator"), std::string::npos);
}

// Flips with a checksum that fits, and cuts: refused, or something else is read; never more than that.
TEST(Envelopes, DamageIsSurvived) {
    RandomDescriptions random(2);
    auto const parse_all = [](Bytes const& bytes) {
        int refused = 0;
        refused += !refusal([&] { parse_header(bytes, "x"); }).empty();
        refused += !refusal([&] { parse_page_list(bytes, "x"); }).empty();
        refused += !refusal([&] { parse_footer(bytes, "x"); }).empty();
        return refused;
    };
    for (int i = 0; i < 3000; ++i) {
        auto bytes = i % 3 == 0   ? to_envelope(random.header())
                     : i % 3 == 1 ? to_envelope(random.page_list())
                                  : to_envelope(random.footer());
        auto flipped = bytes;
        flipped[random.below(bytes.size())] ^= static_cast<std::byte>(1 << random.below(8));
        EXPECT_EQ(parse_all(flipped), 3);
        EXPECT_GE(parse_all(sealed(flipped)), 2);
        bytes.resize(random.below(bytes.size()));
        EXPECT_EQ(parse_all(bytes), 3);
        if (bytes.size() < 16) continue;
        put_number<std::endian::little>(bytes.data() + 2, static_cast<std::uint32_t>(bytes.size()));
        EXPECT_GE(parse_all(sealed(bytes)), 2);
    }
}

TEST(Envelopes, EveryDamagedAnchorIsRefused) {
    auto const anchor = to_bytes(Anchor{});
    for (std::size_t bit = 0; bit < 8 * anchor.size(); ++bit) {
        if (bit / 8 == 4 || bit / 8 == 5) continue; // the class version, which no checksum covers
        auto flipped = anchor;
        flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_NE(refusal([&] { parse_anchor(flipped, "x"); }), "") << bit;
    }
    for (std::size_t size = 0; size < anchor.size(); ++size) {
        EXPECT_NE(refusal([&] { parse_anchor(std::span(anchor).first(size), "x"); }), "");
    }
}

TEST(Envelopes, AnchorsOfOtherVersionsAreToldFromDamagedOnes) {
    Anchor anchor;
    EXPECT_EQ(other_version(to_bytes(anchor)), std::nullopt);
    anchor.version_epoch = 0;
    anchor.version_major = 3;
    EXPECT_EQ(other_version(to_bytes(anchor)), "version 0.3.0.1");
    anchor.version_epoch = 2;
    EXPECT_EQ(other_version(to_bytes(anchor)), "version 2.3.0.1");
    auto const sound = to_bytes(Anchor{});
    for (std::size_t byte = 6; byte < sound.size(); ++byte) {
        auto damaged = sound;
        damaged[byte] ^= std::byte{1};
        EXPECT_EQ(other_version(damaged), std::nullopt) << byte;
    }
    auto old = sound;
    old[5] = std::byte{1};
    EXPECT_EQ(other_version(old), "a version before 1.0 (class version 1)");
    EXPECT_EQ(other_version(std::span(sound).first(10)), std::nullopt);
}

} // namespace
} // namespace thalweg::format::rntuple
