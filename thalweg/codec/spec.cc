#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

struct CompressionName {
    std::string_view name;
    int highest_level; // 0: it has no levels
};

constexpr CompressionName name_of(Compression compression) {
    switch (compression) {
    case Compression::none:
        return {"none", 0};
    case Compression::deflate:
        return {"deflate", 9};
    case Compression::lz4:
        return {"lz4", 0};
    case Compression::zstd:
        return {"zstd", 22};
    }
    return {};
}

constexpr std::array kPrefilters = {Prefilter::shuffle, Prefilter::bitshuffle};

constexpr std::string_view name_of(Prefilter prefilter) {
    switch (prefilter) {
    case Prefilter::none:
        return "";
    case Prefilter::shuffle:
        return "shuffle";
    case Prefilter::bitshuffle:
        return "bitshuffle";
    }
    return "";
}

// "none, deflate[-1..9], lz4 or zstd[-1..22]"
std::string all_compressions() {
    std::string all;
    for (auto const compression : kCompressions) {
        auto const [name, highest_level] = name_of(compression);
        if (!all.empty()) all += compression == kCompressions.back() ? " or " : ", ";
        all += name;
        if (highest_level > 0) all += fmt::format("[-1..{}]", highest_level);
    }
    return all;
}

[[noreturn]] void fail_parse(std::string_view text, std::string const& why) {
    base::fail_usage({fmt::format("no codec \"{}\"", text), why,
                      "choose " + all_compressions() +
                          ", each with shuffle+ or bitshuffle+ in front if you like, or shuffle or bitshuffle alone"});
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
    for (auto const compression : kCompressions) {
        auto const row = name_of(compression);
        if (row.name != part.substr(0, dash)) continue;
        spec.compression = compression;
        if (dash != part.npos) spec.level = parse_level(text, part.substr(dash + 1), row);
        return;
    }
    fail_parse(text, fmt::format("\"{}\" is no compression", part));
}

} // namespace

Spec Spec::parse(std::string_view text) {
    Spec spec;
    std::string_view rest = text;
    for (auto const prefilter : kPrefilters) {
        auto const name = name_of(prefilter);
        if (!rest.starts_with(name)) continue;
        rest.remove_prefix(name.size());
        spec.prefilter = prefilter;
        if (rest.empty()) return spec;
        if (!rest.starts_with('+')) fail_parse(text, "a plus sign joins the two parts");
        rest.remove_prefix(1);
        break;
    }
    parse_compression(text, rest, spec);
    return spec;
}

std::string Spec::name() const {
    std::string compressed(name_of(compression).name);
    if (level != 0) compressed += fmt::format("-{}", level);
    if (prefilter == Prefilter::none) return compressed;
    if (compression == Compression::none) return std::string(name_of(prefilter));
    return fmt::format("{}+{}", name_of(prefilter), compressed);
}

} // namespace thalweg::codec
