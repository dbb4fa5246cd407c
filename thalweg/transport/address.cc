#include "thalweg/transport/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "thalweg/base/error.h"
#include "thalweg/transport/unix_socket.h"

namespace thalweg::transport {
namespace {

template <class Number> bool parse_number(std::string_view text, Number& number) {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

[[noreturn]] void fail_address(std::string_view text, std::string why) {
    base::fail_usage({"\"" + std::string(text) + "\" is no address", std::move(why),
                      "write HOST:PORT, such as 127.0.0.1:7700, [::1]:7700 or localhost:7700, or PORT alone"});
}

struct HostPort {
    std::string host;
    std::uint16_t port = 0;
};

HostPort split(std::string_view text) {
    auto const colon = text.rfind(':');
    auto host = colon == std::string_view::npos ? std::string_view("127.0.0.1") : text.substr(0, colon);
    auto const port_text = colon == std::string_view::npos ? text : text.substr(colon + 1);
    HostPort parts;
    if (!parse_number(port_text, parts.port)) fail_address(text, "a port is a number from 0 to 65535");
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == std::string_view::npos) fail_address(text, "brackets are for IPv6 addresses");
    } else if (host.find(':') != std::string_view::npos) {
        fail_address(text, "an IPv6 address stands in brackets before its port");
    }
    if (host.empty()) fail_address(text, "there is no host before the port; 0.0.0.0 means every network");
    if (host.find('\0') != std::string_view::npos) fail_address(text, "a host has no zero bytes");
    parts.host = host;
    return parts;
}

// `name` resolved; throws what the resolver says.
Address resolve(std::string const& name, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (int const error = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
        int const code = error == EAI_SYSTEM ? errno : 0;
        base::fail_system(
            {"cannot find the host \"" + name + "\"", ::gai_strerror(error), "check its spelling, or write its number"},
            code);
    }
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const list(found, ::freeaddrinfo);
    // IPv4 where a name has both, so that "localhost:7700" is where "7700" is.
    auto const* best = found;
    for (auto const* each = found; each != nullptr && best->ai_family != AF_INET; each = each->ai_next) {
        if (each->ai_family == AF_INET) best = each;
    }
    Address address;
    std::memcpy(&address.storage, best->ai_addr, best->ai_addrlen);
    address.size_bytes = best->ai_addrlen;
    return address;
}

constexpr std::string_view kLocal = "unix:";

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}; // ::ffff:0:0/96

bool is_mapped(std::vector<std::uint8_t> const& bytes) {
    return bytes.size() == 16 && std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin());
}

// 4 or 16 bytes as on the wire; none where it is no Internet address.
std::vector<std::uint8_t> bytes_of(Address const& address) {
    std::vector<std::uint8_t> bytes;
    if (address.storage.ss_family == AF_INET) {
        auto const& ip = reinterpret_cast<sockaddr_in const&>(address.storage).sin_addr;
        auto const* first = reinterpret_cast<std::uint8_t const*>(&ip);
        bytes.assign(first, first + sizeof ip);
    } else if (address.storage.ss_family == AF_INET6) {
        auto const& ip = reinterpret_cast<sockaddr_in6 const&>(address.storage).sin6_addr;
        bytes.assign(std::begin(ip.s6_addr), std::end(ip.s6_addr));
    }
    if (is_mapped(bytes)) bytes.erase(bytes.begin(), bytes.begin() + sizeof kMapped);
    return bytes;
}

// Whether the first `bits` of both are the same.
bool begin_alike(std::vector<std::uint8_t> const& left, std::vector<std::uint8_t> const& right, unsigned bits) {
    auto const whole = bits / 8;
    if (!std::equal(left.begin(), left.begin() + whole, right.begin())) return false;
    return bits % 8 == 0 || ((left[whole] ^ right[whole]) >> (8 - bits % 8)) == 0;
}

[[noreturn]] void fail_network(std::string const& text, std::string why) {
    base::fail_usage(
        {"\"" + text + "\" is no network", std::move(why), "write one like 10.0.0.0/8, 192.168.1.7 or ::1/128"});
}

} // namespace

std::string Address::str() const {
    if (is_local()) return std::string(kLocal) + reinterpret_cast<sockaddr_un const&>(storage).sun_path;
    char host[NI_MAXHOST] = {};
    char service[NI_MAXSERV] = {};
    if (::getnameinfo(reinterpret_cast<sockaddr const*>(&storage), size_bytes, host, sizeof host, service,
                      sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return "nowhere";
    }
    bool const is_v6 = storage.ss_family == AF_INET6;
    return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + service;
}

std::uint16_t Address::port() const {
    if (is_local()) return 0;
    if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6 const&>(storage).sin6_port);
    return ntohs(reinterpret_cast<sockaddr_in const&>(storage).sin_port);
}

Address parse_address(std::string_view text) {
    if (text.starts_with(kLocal)) return unix_address(std::string(text.substr(kLocal.size())));
    auto const [host, port] = split(text);
    return resolve(host, port);
}

bool names_host(std::string_view text) {
    if (text.starts_with(kLocal)) return false;
    auto const host = split(text).host;
    in6_addr number{};
    return ::inet_pton(AF_INET, host.c_str(), &number) != 1 && ::inet_pton(AF_INET6, host.c_str(), &number) != 1;
}

Networks::Networks(std::vector<std::string> const& texts) {
    for (auto const& text : texts) {
        auto const slash = text.find('/');
        auto const host = text.substr(0, slash);
        Network network{};
        network.family = host.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
        network.prefix.resize(network.family == AF_INET ? 4 : 16);
        network.bits = static_cast<unsigned>(network.prefix.size() * 8);
        if (::inet_pton(network.family, host.c_str(), network.prefix.data()) != 1 ||
            host.size() != ::strlen(host.c_str())) {
            fail_network(text, "its address is neither of IPv4 nor of IPv6");
        }
        unsigned const all_bits = network.bits;
        if (slash != std::string_view::npos &&
            (!parse_number(std::string_view(text).substr(slash + 1), network.bits) || network.bits > all_bits)) {
            fail_network(text, "after the slash comes a number of bits, at most " + std::to_string(all_bits));
        }
        if (is_mapped(network.prefix) && network.bits >= 96) {
            network.family = AF_INET;
            network.prefix.erase(network.prefix.begin(), network.prefix.begin() + sizeof kMapped);
            network.bits -= 96;
        }
        networks_.push_back(std::move(network));
    }
}

bool Networks::contain(Address const& address) const {
    auto const bytes = bytes_of(address);
    return std::ranges::any_of(networks_, [&](Network const& network) {
        return network.prefix.size() == bytes.size() && begin_alike(network.prefix, bytes, network.bits);
    });
}

} // namespace thalweg::transport
