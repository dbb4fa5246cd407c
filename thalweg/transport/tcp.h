// Stream sockets that never block: TCP, and Unix sockets, which have the same calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/transport/address.h"
#include "thalweg/transport/unix_socket.h"

namespace thalweg::transport {

struct SocketOptions {
    std::uint32_t send_buffer_bytes = 0; // 0: the kernel's
    std::uint32_t receive_buffer_bytes = 0;
    // "cubic", "bbr"; empty: the kernel's. Throws base::SystemError where it is not there.
    std::string congestion_control = {};
    // Most that TCP sends in a second, even if the other side would take more; 0: no limit. Throws base::SystemError
    // if the kernel does not keep it. A Unix socket has none.
    std::uint64_t pacing_bytes_s = 0;
};

struct Listener {
    base::FileDescriptor socket;
    Address address;                         // with the port that the kernel chose
    std::shared_ptr<UnixListener> file = {}; // of a Unix socket, which is removed with it
};
// Throws base::SystemError naming the address.
Listener listen_at(Address const& address, int backlog = 4096);

struct Accepted {
    base::FileDescriptor socket;
    Address peer;
};
// Returns nothing if no connection waits (any more). Throws base::SystemError (EMFILE, ENFILE, ENOBUFS, ENOMEM) where
// the machine is out of something; the connection waits then, and a poller goes on calling the listener readable: leave
// it for a while.
std::optional<Accepted> accept_from(base::FileDescriptor const& listener, SocketOptions const& options = {});

// Begins; the socket is writable when it is connected or has failed (see connect_error). Throws base::SystemError where
// the machine knows at once that it cannot be (no route, no descriptors left).
base::FileDescriptor begin_connect(Address const& address, SocketOptions const& options = {});
int connect_error(base::FileDescriptor const& socket); // 0: connected; EINPROGRESS: not yet known

// How many bytes moved; 0: none at the moment. `closed`: the other side has gone (errno in `error`), or, for
// receive_some with `error` 0, has said that it will send no more; it may still listen.
struct Moved {
    std::size_t bytes = 0;
    bool closed = false;
    int error = 0;
};
Moved moved_by(ssize_t result, bool zero_is_end); // the result of a call of the system; of -1 errno says why
Moved send_some(base::FileDescriptor const& socket, std::span<std::byte const> bytes);
Moved receive_some(base::FileDescriptor const& socket, std::span<std::byte> room);
// Bytes that were sent and that the other side's machine has not taken yet: the kernel's memory holds them.
std::uint64_t unacknowledged_bytes(base::FileDescriptor const& socket);
// When it is closed, what the other side has not taken is dropped, instead of kept in the kernel until it does.
void forget_unsent(base::FileDescriptor const& socket);
void set_send_buffer(base::FileDescriptor const& socket, std::uint32_t bytes);
// Ends sending: what was sent is still delivered, and receiving goes on as before.
void end_sending(base::FileDescriptor const& socket);
// Waits until there is something to receive, or room to send where `or_room`; `timeout_ns` at most.
void wait_for(base::FileDescriptor const& socket, bool or_room, std::uint64_t timeout_ns);

} // namespace thalweg::transport
