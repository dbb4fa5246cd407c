#include "thalweg/monitor/http_request.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace thalweg::monitor {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

struct Head {
    Request request;
    std::size_t body_bytes = 0;
};

// Thrown within this file only.
struct Wrong {
    char const* why;
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_visible(char c) { return c > ' ' && c < 0x7f; }
bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; }

bool same_name(std::string_view left, std::string_view right) {
    return std::ranges::equal(
        left, right, {}, [](char c) { return is_upper(c) ? static_cast<char>(c | 0x20) : c; },
        [](char c) { return is_upper(c) ? static_cast<char>(c | 0x20) : c; });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Up to `end`, which is taken away, too; all of it where `end` is not there.
std::string_view take_until(std::string_view& text, std::string_view end) {
    auto const at = text.find(end);
    auto const taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
    return taken;
}

Request parse_first_line(std::string_view line) {
    auto const method = take_until(line, " ");
    auto target = take_until(line, " ");
    if (method.empty() || !std::ranges::all_of(method, is_upper)) throw Wrong{"the method is no word in capitals"};
    if (!target.starts_with('/') || !std::ranges::all_of(target, is_visible)) throw Wrong{"the path is no path"};
    if (line != "HTTP/1.1" && line != "HTTP/1.0") throw Wrong{"HTTP/1.1 is spoken here"};
    return {.method = std::string(method), .path = std::string(take_until(target, "?"))};
}

std::size_t parse_length(std::string_view text) {
    std::uint64_t length = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc{} || end != text.data() + text.size()) throw Wrong{"Content-Length is no number"};
    return length;
}

Head parse_head(std::string_view text) {
    Head head{.request = parse_first_line(take_until(text, kLineEnd))};
    std::string_view length;
    while (!text.empty()) {
        auto line = take_until(text, kLineEnd);
        if (line.find(':') == std::string_view::npos) throw Wrong{"a header has no colon"};
        auto const name = take_until(line, ":");
        auto const value = trimmed(line);
        if (name.empty() || !std::ranges::all_of(name, is_visible)) throw Wrong{"a header has no name"};
        if (std::ranges::any_of(value, is_control)) throw Wrong{"a header has control characters"};
        if (same_name(name, "Transfer-Encoding")) throw Wrong{"send the body with its Content-Length"};
        if (same_name(name, "Origin")) head.request.from_web_page = true;
        if (!same_name(name, "Content-Length")) continue;
        if (!length.empty() && length != value) throw Wrong{"there are two lengths"};
        length = value;
        head.body_bytes = parse_length(value);
    }
    return head;
}

Parsed too_large(std::size_t limit_bytes) {
    return {.status = 413, .why = "requests have at most " + std::to_string(limit_bytes) + " bytes"};
}

} // namespace

Parsed parse_request(std::string_view bytes, std::size_t limit_bytes) try {
    // What cannot become a request, such as the first bytes of TLS, is told so at once.
    if (!bytes.empty() && !is_upper(bytes[0])) throw Wrong{"the method is no word in capitals"};
    auto const end = bytes.substr(0, limit_bytes).find("\r\n\r\n");
    if (end == std::string_view::npos) return bytes.size() < limit_bytes ? Parsed{} : too_large(limit_bytes);
    auto head = parse_head(bytes.substr(0, end));
    auto const rest = bytes.substr(end + 4);
    if (head.body_bytes > limit_bytes - (end + 4)) return too_large(limit_bytes);
    if (rest.size() < head.body_bytes) return {};
    head.request.body = rest.substr(0, head.body_bytes);
    return {.request = std::move(head.request), .status = 200};
} catch (Wrong const& wrong) {
    return {.status = 400, .why = wrong.why};
}

} // namespace thalweg::monitor
