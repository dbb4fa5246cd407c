#include "studies/readout/fabric/wire.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace thalweg::study {
namespace {

int checked(int result, char const* what) {
    if (result < 0) throw WireError(std::string(what) + ": " + std::strerror(errno));
    return result;
}

struct Stream {
    int fd = -1;
    bool connecting = false;
    std::vector<std::byte> input;
    std::size_t got = 0;
    std::span<std::byte const> rest; // of the message that is sent
};

class SocketWire final : public Wire {
  public:
    SocketWire(bool unix_socket, Plan const& plan) : unix_(unix_socket), plan_(plan), streams_(plan.connections) {
        poller_ = checked(::epoll_create1(0), "epoll_create1");
    }
    ~SocketWire() override {
        for (auto const& stream : streams_)
            if (stream.fd >= 0) ::close(stream.fd);
        if (listener_ >= 0) ::close(listener_);
        ::close(poller_);
    }

    std::string listen() override {
        listener_ = make_socket();
        std::string address(sizeof(sockaddr_storage), '\0');
        auto* const bound = reinterpret_cast<sockaddr*>(address.data());
        socklen_t size = sizeof(sockaddr_in);
        if (unix_) {
            size = sizeof(sa_family_t); // the kernel chooses an abstract name
            bound->sa_family = AF_UNIX;
        } else {
            auto* const internet = reinterpret_cast<sockaddr_in*>(bound);
            internet->sin_family = AF_INET;
            internet->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        checked(::bind(listener_, bound, size), "bind");
        size = static_cast<socklen_t>(address.size());
        checked(::getsockname(listener_, bound, &size), "getsockname");
        address.resize(size);
        checked(::listen(listener_, 1024), "listen");
        watch(EPOLL_CTL_ADD, listener_, EPOLLIN, plan_.connections);
        return address;
    }

    void prepare(std::string const& address) override { server_ = address; }

    void connect(unsigned number) override {
        auto const fd = make_socket();
        auto const* const to = reinterpret_cast<sockaddr const*>(server_.data());
        if (::connect(fd, to, static_cast<socklen_t>(server_.size())) != 0 && errno != EINPROGRESS)
            checked(-1, "connect");
        add(number, fd, EPOLLOUT);
        streams_[number].connecting = true;
    }

    void send(unsigned connection, std::span<std::byte const> message) override {
        auto& stream = streams_[connection];
        stream.rest = message;
        write_rest(stream);
        if (!stream.rest.empty()) watch(EPOLL_CTL_MOD, stream.fd, EPOLLIN | EPOLLOUT, connection);
    }

    void turn(int most_ms, OnMessage const& on_message, OnConnected const& on_connected) override {
        std::array<epoll_event, 64> events;
        auto const count = ::epoll_wait(poller_, events.data(), events.size(), most_ms);
        for (int i = 0; i < count; ++i) {
            auto const number = events[i].data.u32;
            if (number == plan_.connections) {
                accept_all();
                continue;
            }
            auto& stream = streams_[number];
            if ((events[i].events & EPOLLOUT) != 0) {
                write_rest(stream);
                if (stream.rest.empty()) watch(EPOLL_CTL_MOD, stream.fd, EPOLLIN, number);
                if (stream.connecting) on_connected(number);
                stream.connecting = false;
            }
            if ((events[i].events & EPOLLIN) != 0) read(number, stream, on_message);
        }
    }

    char const* waiting() const override { return "descriptor"; }

  private:
    int make_socket() const {
        auto const fd = checked(::socket(unix_ ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
        be_prompt(fd);
        return fd;
    }

    void be_prompt(int fd) const {
        int const yes = 1;
        if (!unix_) checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
    }

    void watch(int what, int fd, std::uint32_t events, unsigned number) const {
        epoll_event event{.events = events, .data = {.u32 = number}};
        checked(::epoll_ctl(poller_, what, fd, &event), "epoll_ctl");
    }

    void add(unsigned number, int fd, std::uint32_t events) {
        streams_[number].fd = fd;
        streams_[number].input.resize(plan_.response_bytes);
        watch(EPOLL_CTL_ADD, fd, events, number);
    }

    void accept_all() {
        for (int fd = 0; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            be_prompt(fd);
            add(accepted_++, fd, EPOLLIN);
        }
    }

    static void write_rest(Stream& stream) {
        if (stream.rest.empty()) return;
        auto const written = ::send(stream.fd, stream.rest.data(), stream.rest.size(), MSG_NOSIGNAL);
        if (written < 0 && errno != EAGAIN) checked(-1, "send");
        if (written > 0) stream.rest = stream.rest.subspan(static_cast<std::size_t>(written));
    }

    static void read(unsigned number, Stream& stream, OnMessage const& on_message) {
        auto const bytes = ::recv(stream.fd, stream.input.data() + stream.got, stream.input.size() - stream.got, 0);
        if (bytes == 0) throw WireError("the other side is gone");
        if (bytes < 0 && errno != EAGAIN) checked(-1, "recv");
        if (bytes > 0) stream.got += static_cast<std::size_t>(bytes);
        Header header;
        if (stream.got < sizeof header) return;
        std::memcpy(&header, stream.input.data(), sizeof header);
        if (stream.got < header.bytes) return;
        stream.got = 0; // one request in flight on a connection: nothing follows
        on_message(number, stream.input.data());
    }

    bool unix_;
    Plan plan_;
    std::vector<Stream> streams_;
    std::string server_;
    int poller_ = -1, listener_ = -1;
    unsigned accepted_ = 0;
};

} // namespace

std::unique_ptr<Wire> make_sockets(bool unix_socket, Plan const& plan) {
    return std::make_unique<SocketWire>(unix_socket, plan);
}

} // namespace thalweg::study
