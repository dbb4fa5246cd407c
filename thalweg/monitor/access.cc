#include "thalweg/monitor/access.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <climits>
#include <unistd.h>

#include "thalweg/base/secret.h"

namespace thalweg::monitor {
namespace {

constexpr std::string_view kBearer = "bearer ";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::string in_lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

bool is_address(int family, std::string const& text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes;
    return ::inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool is_port(std::string_view text) {
    return text.empty() || (text[0] == ':' && text.size() <= 6 &&
                            std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; }));
}

std::string own_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// "daq7:7780" becomes "daq7".
std::string_view without_port(std::string_view host) { return host.substr(0, host.rfind(':')); }

} // namespace

HostNames::HostNames(std::vector<std::string> names, std::string_view address) : names_(std::move(names)) {
    auto const own = own_name();
    names_.insert(names_.end(), {"localhost", own, own.substr(0, own.find('.'))});
    if (address.find(':') != address.npos) names_.emplace_back(without_port(address));
    std::ranges::transform(names_, names_.begin(), in_lower_case);
    std::erase(names_, "");
}

bool HostNames::contain(std::string_view host) const {
    if (host.find('\0') != host.npos) return false;
    if (host.starts_with('[')) {
        auto const end = host.find(']');
        return end != host.npos && is_port(host.substr(end + 1)) &&
               is_address(AF_INET6, std::string(host.substr(1, end - 1)));
    }
    auto const bare = without_port(host);
    if (!is_port(host.substr(bare.size()))) return false;
    auto name = in_lower_case(bare);
    if (name.ends_with('.')) name.pop_back(); // the final dot, the root of all names, is allowed
    return is_address(AF_INET, name) || std::ranges::find(names_, name) != names_.end();
}

bool is_bearer_of(std::string_view token, std::string_view authorization) {
    if (token.empty() || in_lower_case(authorization.substr(0, kBearer.size())) != kBearer) return false;
    return base::same_secret(authorization.substr(kBearer.size()), token);
}

} // namespace thalweg::monitor
