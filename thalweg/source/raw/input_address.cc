#include "thalweg/source/raw/input_address.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/near_miss.h"
#include "thalweg/base/units.h"

namespace thalweg::source::raw {
namespace {

using Kind = InputAddress::Kind;
using Reconnect = InputAddress::Reconnect;

constexpr std::array<std::pair<std::string_view, Kind>, 5> kSchemes{{{"fd:", Kind::descriptor},
                                                                     {"tcp://", Kind::tcp},
                                                                     {"unix:", Kind::unix_socket},
                                                                     {"listen:", Kind::listen},
                                                                     {"udp://", Kind::udp}}};

[[noreturn]] void refuse(std::string_view text, std::string const& why, std::string const& suggestion) {
    base::fail_usage({fmt::format("no rows can be read from '{}'", text), why, suggestion});
}

Reconnect parse_reconnect(std::string_view text, std::string_view value) {
    if (value == "never") return Reconnect::never;
    if (value == "after-reset") return Reconnect::after_reset;
    if (value == "always") return Reconnect::always;
    refuse(text, fmt::format("reconnect={} is not known", value), "give never, after-reset or always");
}

void set_option(InputAddress& address, std::string_view name, std::string_view value) {
    bool const is_udp = address.kind == Kind::udp;
    if (name == "reconnect" && !is_udp)
        address.reconnect = parse_reconnect(address.text, value);
    else if (name == "peer" && is_udp)
        address.peer = value;
    else if (name == "buffer" && is_udp)
        address.buffer_bytes = base::parse_size_bytes(value);
    else {
        static constexpr std::array<std::string_view, 2> kOfUdp{"peer", "buffer"};
        static constexpr std::array<std::string_view, 1> kOfStreams{"reconnect"};
        auto const known = is_udp ? std::span<std::string_view const>(kOfUdp) : kOfStreams;
        refuse(address.text, fmt::format("it has no option '{}'", name), base::suggest(name, known));
    }
}

void set_options(InputAddress& address, std::string_view options) {
    while (!options.empty()) {
        auto const one = options.substr(0, options.find('&'));
        options.remove_prefix(std::min(options.size(), one.size() + 1));
        auto const equals = one.find('=');
        if (equals == one.npos) refuse(address.text, fmt::format("'{}' is not of the form option=value", one), "");
        set_option(address, one.substr(0, equals), one.substr(equals + 1));
    }
}

int parse_descriptor(std::string_view text, std::string_view digits) {
    int number = -1;
    auto const end = digits.data() + digits.size();
    auto const [rest, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || rest != end || number < 0)
        refuse(text, "no number follows fd:", "give for example fd:3");
    return number;
}

} // namespace

InputAddress parse_input(std::string_view text) {
    InputAddress address{.text = std::string(text), .place = std::string(text)};
    if (text.empty()) refuse(text, "it is empty", "give a file, a pipe or an address");
    for (auto const& [scheme, kind] : kSchemes) {
        if (!text.starts_with(scheme)) continue;
        address.kind = kind;
        auto const rest = text.substr(scheme.size());
        auto const options = rest.find('?');
        address.place = rest.substr(0, options);
        if (address.place.empty()) refuse(text, fmt::format("nothing follows {}", scheme), "");
        if (kind == Kind::descriptor) address.descriptor = parse_descriptor(text, address.place);
        if (options != rest.npos) set_options(address, rest.substr(options + 1));
        return address;
    }
    if (auto const scheme = text.find("://"); scheme != text.npos)
        refuse(text, fmt::format("{} is not known", text.substr(0, scheme + 3)),
               "give FILE, tcp://HOST:PORT, udp://HOST:PORT, unix:PATH or listen:PORT");
    return address;
}

} // namespace thalweg::source::raw
