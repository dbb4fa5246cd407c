#include "thalweg/format/hdf5/reader/messages.h"

#include <cerrno>
#include <sys/socket.h>

namespace thalweg::format::hdf5::reader {

bool send_all(int socket, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_all(int socket, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        auto const received = ::recv(socket, bytes.data(), bytes.size(), 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(received));
    }
    return true;
}

bool send_message(int socket, ReaderMessage const& head, std::span<std::byte const> body) {
    return send_all(socket, std::as_bytes(std::span(&head, 1))) && send_all(socket, body);
}

} // namespace thalweg::format::hdf5::reader
