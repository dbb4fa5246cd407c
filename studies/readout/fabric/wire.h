// What carries the messages of this study: one program over sockets and over libfabric, so that like is compared
// with like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace thalweg::study {

// A message begins with this. The server writes it over the first bytes of the first fragment.
struct Header {
    std::uint32_t bytes = 0;      // of the whole message
    std::uint32_t connection = 0; // the client's number of it
    std::uint32_t slot = 0;       // which of the requests in flight this is, or answers
    std::uint32_t hello = 0;      // the first message of a connection, and its answer
};

constexpr std::size_t kRequestBytes = 128; // with the client's address, which a hello over `shm` or `rxm` has to tell
constexpr std::size_t kAddressBytes = kRequestBytes - sizeof(Header);

struct WireError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Plan {
    unsigned connections = 1;
    unsigned in_flight = 1; // requests, over all connections
    std::size_t response_bytes = kRequestBytes;
};

// One side of all connections. It is used by one thread, and `turn` is where everything happens.
class Wire {
  public:
    using OnMessage = std::function<void(unsigned connection, std::byte const* message)>;
    using OnConnected = std::function<void(unsigned connection)>;

    Wire() = default;
    Wire(Wire const&) = delete;
    Wire& operator=(Wire const&) = delete;
    virtual ~Wire() = default;

    // The server's side: begins to listen, and returns the address that clients need.
    virtual std::string listen() = 0;
    // The client's side: all that its connections share.
    virtual void prepare(std::string const& address) = 0;
    // Begins connection `number`: `turn` says when it may be used.
    virtual void connect(unsigned number) = 0;
    // What a client's hello must hold, for the server to answer it.
    virtual std::string address_of(unsigned) { return {}; }
    // Sends a message, whose bytes must stay until an answer has come; what does not fit waits for a `turn`.
    virtual void send(unsigned connection, std::span<std::byte const> message) = 0;
    // Waits, at most for this time, and hands over what came.
    virtual void turn(int most_ms, OnMessage const& on_message, OnConnected const& on_connected) = 0;
    // How `turn` waits: "descriptor", "call" or "polls".
    virtual char const* waiting() const = 0;
};

std::unique_ptr<Wire> make_sockets(bool unix_socket, Plan const& plan);
// Messages of a connection (`messages`), or of endpoints without any.
std::unique_ptr<Wire> make_fabric(std::string const& provider, bool messages, Plan const& plan);

} // namespace thalweg::study
