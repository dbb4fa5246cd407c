// Addresses as people write them: of the Internet, and of Unix sockets.
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

    std::string str() const; // "127.0.0.1:7700", "[::1]:7700", "unix:/run/dh0.sock"
    std::uint16_t port() const;
    bool is_local() const { return storage.ss_family == AF_UNIX; }
};

// "127.0.0.1:7700", "[::1]:7700", "localhost:7700", "7700" (on 127.0.0.1), "unix:/run/dh0.sock". Throws
// base::UsageError; base::SystemError where a name cannot be resolved.
Address parse_address(std::string_view text);
// Returns whether the host in such a text is a name, whose address may change, and no number. Throws base::UsageError.
bool names_host(std::string_view text);

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
