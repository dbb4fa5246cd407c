// Envelopes that ROOT wrote: parsed, and written again byte by byte.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

Bytes read_file(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    std::string const text(std::istreambuf_iterator<char>(file), {});
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::vector<Anchor> anchors_of(std::filesystem::path const& path) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
    std::vector<Anchor> anchors;
    for (auto const& key : read_keys(*file)) {
        if (key.class_name == "ROOT::RNTuple") anchors.push_back(parse_anchor(read_object(*file, key), key.path));
    }
    return anchors;
}

Bytes unpacked(Bytes const& file, std::uint64_t offset, std::uint64_t stored_bytes, std::uint64_t length) {
    auto const stored = std::span(file).subspan(offset, stored_bytes);
    Bytes envelope(stored.begin(), stored.end());
    if (stored_bytes == length) return envelope;
    envelope.resize(length);
    codec::decompress_root_blocks(stored, envelope);
    return envelope;
}

void check(Bytes const& file, Anchor const& anchor, ForeignTable& table) {
    auto const header_bytes = unpacked(file, anchor.header_offset, anchor.header_stored_bytes, anchor.header_bytes);
    auto const header = parse_header(header_bytes, "header");
    EXPECT_EQ(to_envelope(header), header_bytes);
    auto const footer_bytes = unpacked(file, anchor.footer_offset, anchor.footer_stored_bytes, anchor.footer_bytes);
    auto const footer = parse_footer(footer_bytes, "footer");
    if (anchor.version_minor == 0) { // later ones say more
        EXPECT_EQ(to_envelope(footer), footer_bytes);
    }
    EXPECT_EQ(footer.header_checksum, envelope_checksum(header_bytes));

    auto schema = header.schema;
    schema.fields.insert(schema.fields.end(), footer.extension.fields.begin(), footer.extension.fields.end());
    schema.columns.insert(schema.columns.end(), footer.extension.columns.begin(), footer.extension.columns.end());
    for (auto const& group : footer.groups) {
        auto const [offset, stored_bytes] = group.page_list.locator;
        auto const list_bytes = unpacked(file, offset, stored_bytes, group.page_list.length);
        auto const list = parse_page_list(list_bytes, "page list");
        EXPECT_EQ(to_envelope(list), list_bytes);
        EXPECT_EQ(list.header_checksum, envelope_checksum(header_bytes));
        EXPECT_EQ(list.clusters.size(), group.clusters);
    }
    table = read_table(header.name, header, schema);
    EXPECT_EQ(table.sources.size(), table.columns.size());
    EXPECT_FALSE(table.table.fields.empty());
}

class RealFiles : public testing::TestWithParam<std::string> {};

TEST_P(RealFiles, AreParsedAndWrittenAgain) {
    auto const* const folder = std::getenv("THALWEG_DATA");
    auto const path = std::filesystem::path(folder ? folder : THALWEG_TEST_DATA) / GetParam();
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there: set THALWEG_DATA to its folder";
    std::size_t tables = 0;
    for (auto const& entry : std::filesystem::directory_iterator(path)) {
        SCOPED_TRACE(entry.path().string());
        auto const file = read_file(entry.path());
        for (auto const& anchor : anchors_of(entry.path())) {
            ForeignTable table;
            ASSERT_NO_FATAL_FAILURE(check(file, anchor, table));
            ++tables;
            if (!std::getenv("THALWEG_VERBOSE")) continue;
            for (auto const& each : table.left_out) std::fprintf(stderr, "%s\n", each.str().c_str());
            std::fprintf(stderr, "%s %s\n", entry.path().filename().c_str(), model::to_json({{table.table}}).c_str());
        }
    }
    EXPECT_GT(tables, 0u);
}

INSTANTIATE_TEST_SUITE_P(Folders, RealFiles, testing::Values("rntuple", "events"));

} // namespace
} // namespace thalweg::format::rntuple
