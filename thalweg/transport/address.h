// Internet addresses as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace thalweg::transport {

struct Address {
    sockaddr_storage storage = {};
    socklen_t size_bytes = 0;

    std::string str() const; // "127.0.0.1:7700", "[::1]:7700"
    std::uint16_t port() const;
};

// "127.0.0.1:7700", "[::1]:7700", "localhost:7700", "7700" (on 127.0.0.1). Throws base::UsageError; base::SystemError
// where a name cannot be resolved.
Address parse_address(std::string_view text);

// "10.0.0.0/8", "::1/128", "192.168.1.7".
class Networks {
  public:
    explicit Networks(std::vector<std::string> const& texts); // throws base::UsageError
    bool contain(Address const& address) const;               // IPv4-mapped IPv6 addresses count as IPv4

  private:
    struct Network {
        int family;
        std::vector<std::uint8_t> prefix;
        unsigned bits;
    };
    std::vector<Network> networks_;
};

} // namespace thalweg::transport
