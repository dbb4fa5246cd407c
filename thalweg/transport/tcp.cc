#include "thalweg/transport/tcp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

sockaddr* raw(Address& address) { return reinterpret_cast<sockaddr*>(&address.storage); }
sockaddr const* raw(Address const& address) { return reinterpret_cast<sockaddr const*>(&address.storage); }

[[noreturn]] void fail_socket(base::Message message, int error) {
    if (error == EMFILE) message.suggestion = "raise the limit of open files (`ulimit -n`), or open fewer connections";
    base::fail_system(message, error);
}

base::FileDescriptor make_socket(Address const& address) {
    int const fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) fail_socket({"cannot make a socket for " + address.str()}, errno);
    return base::FileDescriptor(fd);
}

bool set_option(base::FileDescriptor const& socket, int level, int name, int value) {
    return ::setsockopt(socket.get(), level, name, &value, sizeof value) == 0;
}

void set_congestion_control(base::FileDescriptor const& socket, std::string const& name) {
    if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0)
        return;
    int const code = errno;
    std::ifstream file("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    std::string allowed;
    std::getline(file, allowed);
    base::fail_system({"cannot use the congestion control \"" + name + "\"",
                       code == ENOENT ? "the kernel has not loaded it" : std::strerror(code),
                       "every user may use: " + allowed},
                      code);
}

bool is_tcp(base::FileDescriptor const& socket) {
    int domain = 0;
    socklen_t size_bytes = sizeof domain;
    return ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size_bytes) != 0 || domain != AF_UNIX;
}

void set_pacing(base::FileDescriptor const& socket, std::uint64_t bytes_s) {
    std::uint64_t found = 0;
    socklen_t size_bytes = sizeof found;
    bool const is_set = ::setsockopt(socket.get(), SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_s, sizeof bytes_s) == 0 &&
                        ::getsockopt(socket.get(), SOL_SOCKET, SO_MAX_PACING_RATE, &found, &size_bytes) == 0;
    if (!is_set)
        base::fail_system({"cannot send " + std::to_string(bytes_s) + " bytes a second at most", std::strerror(errno)},
                          errno);
    if (found != bytes_s)
        base::fail_system({"cannot send " + std::to_string(bytes_s) + " bytes a second at most",
                           "the kernel says that the limit is " + std::to_string(found)});
}

void apply(base::FileDescriptor const& socket, SocketOptions const& options) {
    // Sizes beyond the system's limits are cut to them by the kernel, silently, and that is all right.
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1); // a Unix socket refuses what only TCP has
    if (options.send_buffer_bytes > 0)
        set_option(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(options.send_buffer_bytes));
    if (options.receive_buffer_bytes > 0)
        set_option(socket, SOL_SOCKET, SO_RCVBUF, static_cast<int>(options.receive_buffer_bytes));
    if (!options.congestion_control.empty() && is_tcp(socket))
        set_congestion_control(socket, options.congestion_control);
    if (options.pacing_bytes_s > 0 && is_tcp(socket)) set_pacing(socket, options.pacing_bytes_s);
}

base::FileDescriptor bound_socket(Address const& address, int& error) {
    auto socket = make_socket(address);
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1); // a restart need not wait for the last connections to fade
    if (address.storage.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    error = ::bind(socket.get(), raw(address), address.size_bytes) == 0 ? 0 : errno;
    return socket;
}

void set_port(Address& address, std::uint16_t port) {
    // The port is at the same place in both families.
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(port);
}

std::string other_port(Address const& taken) {
    for (unsigned port = taken.port() + 1u; port <= std::min(65535u, taken.port() + 100u); ++port) {
        Address next = taken;
        set_port(next, static_cast<std::uint16_t>(port));
        int error = 0;
        if (auto const socket = bound_socket(next, error); error == 0 && ::listen(socket.get(), 1) == 0)
            return "choose another port: " + std::to_string(port) + " is free";
    }
    return "choose another port, or 0 for any that is free";
}

[[noreturn]] void fail_listen(Address const& address, int error) {
    base::Message message{"cannot listen at " + address.str()};
    if (error == EADDRINUSE) {
        message.why = "another program listens there";
        message.suggestion = other_port(address);
    } else if (error == EADDRNOTAVAIL) {
        message.why = "this machine has no such address";
        message.suggestion = "127.0.0.1 is this machine alone, 0.0.0.0 every network that it is in";
    } else if (error == EACCES) {
        message.suggestion = "choose a port from 1024 on: those below belong to the system";
    }
    base::fail_system(message, error);
}

// Errors of one connection that came and went before it was accepted: the next one may be well (accept(2)).
bool concerns_one_connection(int error) {
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
        return true;
    default:
        return false;
    }
}

// A connection to a free port of this machine can end up as one to itself, when the kernel picks that very port for
// our end; no server answers there.
bool is_self(Address const& ours, Address const& theirs) {
    return ours.size_bytes == theirs.size_bytes && std::memcmp(&ours.storage, &theirs.storage, ours.size_bytes) == 0;
}

} // namespace

Listener listen_at(Address const& address, int backlog) {
    Listener listener;
    if (address.is_local()) {
        auto const path = std::string(reinterpret_cast<sockaddr_un const&>(address.storage).sun_path);
        listener.file = std::make_shared<UnixListener>(path, backlog);
        listener.socket = base::duplicate(listener.file->socket());
        listener.address = address;
        return listener;
    }
    int error = 0;
    listener.socket = bound_socket(address, error);
    if (error == 0 && ::listen(listener.socket.get(), backlog) != 0) error = errno;
    if (error != 0) fail_listen(address, error);
    listener.address.size_bytes = sizeof listener.address.storage;
    ::getsockname(listener.socket.get(), raw(listener.address), &listener.address.size_bytes);
    return listener;
}

std::optional<Accepted> accept_from(base::FileDescriptor const& listener, SocketOptions const& options) {
    for (;;) {
        Accepted accepted;
        accepted.peer.size_bytes = sizeof accepted.peer.storage;
        int const fd =
            ::accept4(listener.get(), raw(accepted.peer), &accepted.peer.size_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accepted.socket = base::FileDescriptor(fd);
            apply(accepted.socket, options);
            return accepted;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
        if (!concerns_one_connection(errno)) base::fail_system({"cannot accept a connection"}, errno);
    }
}

base::FileDescriptor begin_connect(Address const& address, SocketOptions const& options) {
    auto socket = make_socket(address);
    apply(socket, options);
    if (::connect(socket.get(), raw(address), address.size_bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
        base::fail_system({"cannot connect to " + address.str()}, errno);
    }
    return socket;
}

int connect_error(base::FileDescriptor const& socket) {
    int error = 0;
    socklen_t size_bytes = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size_bytes) != 0) return errno;
    if (error != 0) return error;
    Address ours{.size_bytes = sizeof(sockaddr_storage)}, theirs{.size_bytes = sizeof(sockaddr_storage)};
    if (::getpeername(socket.get(), raw(theirs), &theirs.size_bytes) != 0)
        return errno == ENOTCONN ? EINPROGRESS : errno;
    if (::getsockname(socket.get(), raw(ours), &ours.size_bytes) != 0) return errno;
    return is_self(ours, theirs) ? ECONNREFUSED : 0;
}

Moved moved_by(ssize_t result, bool zero_is_end) {
    if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
    if (result == 0) return {.closed = zero_is_end};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    return {.closed = true, .error = errno};
}

Moved send_some(base::FileDescriptor const& socket, std::span<std::byte const> bytes) {
    ssize_t sent = 0;
    do {
        sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return moved_by(sent, false);
}

Moved receive_some(base::FileDescriptor const& socket, std::span<std::byte> room) {
    if (room.empty()) return {}; // else nothing received would look like the end
    ssize_t received = 0;
    do {
        received = ::recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    } while (received < 0 && errno == EINTR);
    return moved_by(received, true);
}

std::uint64_t unacknowledged_bytes(base::FileDescriptor const& socket) {
    int bytes = 0;
    return ::ioctl(socket.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void forget_unsent(base::FileDescriptor const& socket) {
    linger const none{1, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

void set_send_buffer(base::FileDescriptor const& socket, std::uint32_t bytes) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(bytes));
}

void end_sending(base::FileDescriptor const& socket) { ::shutdown(socket.get(), SHUT_WR); }

void wait_for(base::FileDescriptor const& socket, bool or_room, std::uint64_t timeout_ns) {
    pollfd wanted{socket.get(), static_cast<short>(or_room ? POLLIN | POLLOUT : POLLIN), 0};
    timespec const timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    ::ppoll(&wanted, 1, &timeout, nullptr);
}

} // namespace thalweg::transport
