#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

struct CompressionName {
    Compression compression;
    std::string_view name;
    int highest_level; // 0: has none
};

constexpr std::array kCompressions = {
    CompressionName{Compression::none, "none", 0}, CompressionName{Compression::deflate, "deflate", 9},
    CompressionName{Compression::lz4, "lz4", 0}, CompressionName{Compression::zstd, "zstd", 22}};

struct PrefilterName {
    Prefilter prefilter;
    std::string_view name;
};

constexpr std::array kPrefilters = {PrefilterName{Prefilter::shuffle, "shuffle"},
                                    PrefilterName{Prefilter::bitshuffle, "bitshuffle"}};

[[noreturn]] void fail_parse(std::string_view text, std::string const& why) {
    base::fail_usage({fmt::format("no codec \"{}\"", text), why,
                      "choose none, deflate[-1..9], lz4 or zstd[-1..22], each with shuffle+ or bitshuffle+ in front "
                      "if you like, or shuffle or bitshuffle alone"});
}

int parse_level(std::string_view text, std::string_view digits, CompressionName const& row) {
    int level = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (row.highest_level == 0) fail_parse(text, fmt::format("{} has no levels", row.name));
    if (error != std::errc() || end != digits.data() + digits.size() || level < 1 || level > row.highest_level) {
        fail_parse(text, fmt::format("the levels of {} are 1 to {}", row.name, row.highest_level));
    }
    return level;
}

void parse_compression(std::string_view text, std::string_view part, Spec& spec) {
    std::size_t const dash = part.find('-');
    for (CompressionName const& row : kCompressions) {
        if (row.name != part.substr(0, dash)) continue;
        spec.compression = row.compression;
        if (dash != part.npos) spec.level = parse_level(text, part.substr(dash + 1), row);
        return;
    }
    fail_parse(text, fmt::format("\"{}\" is no compression", part));
}

} // namespace

Spec Spec::parse(std::string_view text) {
    Spec spec;
    std::string_view rest = text;
    for (PrefilterName const& row : kPrefilters) {
        if (!rest.starts_with(row.name)) continue;
        rest.remove_prefix(row.name.size());
        spec.prefilter = row.prefilter;
        if (rest.empty()) return spec;
        if (!rest.starts_with('+')) fail_parse(text, "a plus sign joins the two parts");
        rest.remove_prefix(1);
        break;
    }
    parse_compression(text, rest, spec);
    return spec;
}

std::string Spec::name() const {
    std::string compressed;
    for (CompressionName const& row : kCompressions) {
        if (row.compression == compression) compressed = row.name;
    }
    if (level != 0) compressed += fmt::format("-{}", level);
    for (PrefilterName const& row : kPrefilters) {
        if (row.prefilter != prefilter) continue;
        return compression == Compression::none ? std::string(row.name) : fmt::format("{}+{}", row.name, compressed);
    }
    return compressed;
}

} // namespace thalweg::codec
