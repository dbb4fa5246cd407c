// A client of the monitor for tests that sends any bytes. It waits at most half a minute.
#pragma once

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/monitor/http_server.h"
#include "thalweg/transport/address.h"

namespace thalweg::monitor {

class HttpTestClient {
  public:
    explicit HttpTestClient(HttpServer const& server) : address_(transport::parse_address(server.address())) {
        make_socket();
    }
    explicit HttpTestClient(std::string const& socket_path) {
        sockaddr_un local{.sun_family = AF_UNIX};
        socket_path.copy(local.sun_path, sizeof local.sun_path - 1);
        std::memcpy(&address_.storage, &local, sizeof local);
        address_.size_bytes = sizeof local;
        make_socket();
    }

    bool connect() const {
        return ::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&address_.storage), address_.size_bytes) == 0;
    }
    bool send(std::string_view text) const {
        return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    }
    void send_no_more() const { ::shutdown(socket_.get(), SHUT_WR); }
    // Returns whether there is something to read, without waiting for it.
    bool is_answered() const {
        pollfd wanted{socket_.get(), POLLIN, 0};
        return ::poll(&wanted, 1, 0) == 1;
    }
    // Returns everything until the server closes, or "timeout" if it does not.
    std::string rest() const {
        std::string text;
        char room[4096];
        for (;;) {
            auto const got = ::recv(socket_.get(), room, sizeof room, 0);
            if (got < 0 && errno == EAGAIN) return "timeout";
            if (got <= 0) return text;
            text.append(room, static_cast<std::size_t>(got));
        }
    }

  private:
    void make_socket() {
        socket_ = base::FileDescriptor(::socket(address_.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        timeval const patience{30, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }

    transport::Address address_;
    base::FileDescriptor socket_;
};

inline HttpOptions at_any_port(std::string token = "") {
    return {.address = "127.0.0.1:0", .token = std::move(token), .limits = {.connection_ns = 60'000'000'000}};
}

inline std::string asked(HttpTestClient const& client, std::string const& text) {
    return client.connect() && client.send(text) ? client.rest() : "no connection";
}
inline std::string ask(HttpServer const& server, std::string const& text) {
    return asked(HttpTestClient(server), text);
}
inline std::string get(HttpServer const& server, std::string const& path) {
    return ask(server, "GET " + path + " HTTP/1.1\r\nHost: localhost:7780\r\n\r\n");
}
inline bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace thalweg::monitor
