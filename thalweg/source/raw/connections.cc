#include "thalweg/source/raw/connections.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/raw/wait_readable.h"
#include "thalweg/source/wait.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::source::raw {
namespace {

using Kind = InputAddress::Kind;

constexpr std::uint64_t kFirstConnectNs = 10 * base::kSecondNs; // so long the first connection may take
constexpr std::uint64_t kShortPauseNs = 100 * base::kMsNs, kLongPauseNs = 5 * base::kSecondNs;

class OneFile : public Connections {
  public:
    explicit OneFile(InputAddress const& address) {
        if (address.kind == Kind::descriptor) {
            file_ = base::FileDescriptor(::fcntl(address.descriptor, F_DUPFD_CLOEXEC, 0));
            if (!file_) base::fail_system({fmt::format("cannot read from {}", address.text)}, errno);
        } else {
            // A FIFO opens at once, whether or not a process has it open for writing.
            file_ = base::open_file(address.place, O_RDONLY | O_NONBLOCK);
        }
    }
    base::FileDescriptor next(std::uint64_t) override { return std::move(file_); }

  private:
    base::FileDescriptor file_;
};

sockaddr_un unix_address(std::string const& path) {
    sockaddr_un address{.sun_family = AF_UNIX};
    if (path.size() >= sizeof address.sun_path)
        base::fail_usage({fmt::format("cannot connect to unix:{}", path),
                          fmt::format("a path of a socket has at most {} bytes", sizeof address.sun_path - 1), ""});
    path.copy(address.sun_path, path.size());
    return address;
}

// Connects, and tries again and again if that fails, with growing pauses.
class Dialer : public Connections {
  public:
    explicit Dialer(InputAddress address) : address_(std::move(address)) {
        first_ = next(base::monotonic_ns() + kFirstConnectNs, true);
        if (error_ == EINPROGRESS) error_ = ETIMEDOUT;
        if (!first_)
            base::fail_system({fmt::format("cannot connect to {}", address_.text), std::strerror(error_),
                               "start what sends the rows first"},
                              error_);
    }
    base::FileDescriptor next(std::uint64_t deadline_ns) override {
        return first_ ? std::move(first_) : next(deadline_ns, false);
    }

  private:
    base::FileDescriptor next(std::uint64_t deadline_ns, bool once) {
        for (;;) {
            if (!pending_) {
                if (base::monotonic_ns() < next_try_ns_) sleep_until(std::min(deadline_ns, next_try_ns_));
                if (base::monotonic_ns() < next_try_ns_) return {};
                begin();
            }
            if (pending_) {
                transport::wait_for(pending_, true, left_ns(deadline_ns));
                error_ = transport::connect_error(pending_);
                if (error_ == EINPROGRESS && left_ns(deadline_ns) == 0) return {};
                if (error_ == EINPROGRESS) continue;
                if (error_ == 0) {
                    pause_ns_ = kShortPauseNs;
                    return std::move(pending_);
                }
            }
            pending_.reset();
            if (once) return {};
            next_try_ns_ = base::monotonic_ns() + pause_ns_;
            pause_ns_ = std::min(2 * pause_ns_, kLongPauseNs);
        }
    }

    void begin() {
        try {
            pending_ = address_.kind == Kind::unix_socket
                           ? begin_unix()
                           : transport::begin_connect(transport::parse_address(address_.place));
        } catch (base::SystemError const& error) {
            error_ = error.code;
        }
    }

    base::FileDescriptor begin_unix() const {
        auto const to = unix_address(address_.place);
        base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket) base::fail_system({"cannot make a socket"}, errno);
        if (::connect(socket.get(), reinterpret_cast<sockaddr const*>(&to), sizeof to) != 0)
            base::fail_system({fmt::format("cannot connect to {}", address_.text)}, errno);
        return socket;
    }

    static std::uint64_t left_ns(std::uint64_t deadline_ns) {
        auto const now_ns = base::monotonic_ns();
        return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    }

    InputAddress address_;
    base::FileDescriptor first_, pending_;
    std::uint64_t next_try_ns_ = 0, pause_ns_ = kShortPauseNs;
    int error_ = 0;
};

class Listening : public Connections {
  public:
    explicit Listening(InputAddress const& address)
        : listener_(transport::listen_at(transport::parse_address(address.place))) {}

    base::FileDescriptor next(std::uint64_t deadline_ns) override {
        wait_readable(listener_.socket, deadline_ns);
        auto accepted = transport::accept_from(listener_.socket);
        return accepted ? std::move(accepted->socket) : base::FileDescriptor();
    }

    // What they send is not mixed with the rows of the first one.
    std::uint64_t refuse_others() override {
        std::uint64_t refused = 0;
        while (transport::accept_from(listener_.socket)) ++refused;
        return refused;
    }

  private:
    transport::Listener listener_;
};

} // namespace

std::unique_ptr<Connections> open_connections(InputAddress const& address) {
    switch (address.kind) {
    case Kind::tcp:
    case Kind::unix_socket:
        return std::make_unique<Dialer>(address);
    case Kind::listen:
        return std::make_unique<Listening>(address);
    default:
        return std::make_unique<OneFile>(address);
    }
}

} // namespace thalweg::source::raw
