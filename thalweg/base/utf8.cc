#include "thalweg/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace thalweg::base {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

// Returns the length of the character that `text` begins with, or 0 if there is none. As in RFC 3629, no form is longer
// than needed, and there are no surrogates and nothing above U+10FFFF.
std::size_t length_of_character(std::string_view text) {
    auto const first = byte_at(text, 0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    std::size_t const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (text.size() < length) return 0;
    auto const second = byte_at(text, 1);
    auto const least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    auto const most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return 0;
    auto const rest = text.substr(2, length - 2);
    bool const whole = std::ranges::all_of(rest, [](char each) { return (each & 0xc0) == 0x80; });
    return whole ? length : 0;
}

} // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = length_of_character(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string readable(std::string_view text) {
    if (is_utf8(text)) return std::string(text);
    std::string result;
    while (!text.empty()) {
        auto const length = length_of_character(text);
        if (length == 0) {
            result += fmt::format("\\x{:02x}", byte_at(text, 0));
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

bool is_whole_text(std::string_view text) { return is_utf8(text) && text.find('\0') == text.npos; }

} // namespace thalweg::base
