#include "thalweg/source/raw/stream_input.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/source/raw/wait_readable.h"

namespace thalweg::source::raw {
namespace {

using Reconnect = InputAddress::Reconnect;

constexpr int kPipeBytes = 1 << 20; // as much as a process without privileges may ask for, unless others have it
constexpr std::uint64_t kPageBytes = 4096;

bool is_pipe(int file) { return ::fcntl(file, F_GETPIPE_SZ) > 0; }

// Returns how many waiting bytes fill the buffer of a connection: of a socket, half of its memory is for the kernel's
// own use. A pipe is full if it has no page left; the last one may be filled in part.
std::uint64_t full_bytes(int file) {
    if (is_pipe(file)) return static_cast<std::uint64_t>(::fcntl(file, F_GETPIPE_SZ)) - kPageBytes;
    int bytes = 0;
    socklen_t size = sizeof bytes;
    if (::getsockopt(file, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0) return static_cast<std::uint64_t>(bytes) / 2;
    return 0;
}

} // namespace

StreamInput::StreamInput(InputAddress const& address) : address_(address), connections_(open_connections(address)) {}

bool StreamInput::connect(std::uint64_t deadline_ns) {
    connection_ = connections_->next(deadline_ns);
    if (!connection_) return false;
    struct stat status {};
    is_file_ = ::fstat(connection_.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_pipe(connection_.get())) ::fcntl(connection_.get(), F_SETPIPE_SZ, kPipeBytes); // it may stay as it is
    if (connected_++ > 0) reconnects_.add(1);
    return true;
}

// It is asked only now and then: the kernel lets the buffer of a socket grow.
void StreamInput::look_how_full() {
    if (is_file_) return;
    int waiting = 0;
    if (::ioctl(connection_.get(), FIONREAD, &waiting) != 0) return;
    if (reads_.get() % 64 == 0 || full_bytes_ == 0) full_bytes_ = full_bytes(connection_.get());
    reads_.add(1);
    if (full_bytes_ != 0 && static_cast<std::uint64_t>(waiting) >= full_bytes_) full_reads_.add(1);
}

StreamInput::State StreamInput::read(std::span<std::byte> room, std::size_t& count, std::uint64_t deadline_ns) {
    if (!connection_ && !connect(deadline_ns)) return State::nothing;
    if (!wait_readable(connection_, deadline_ns)) {
        // Only now is it known that this connection has not ended: the next one of the same sender may wait already.
        refused_.add(connections_->refuse_others());
        return State::nothing;
    }
    look_how_full();
    auto const got = ::read(connection_.get(), room.data(), room.size());
    if (got > 0) {
        count = static_cast<std::size_t>(got);
        return State::some;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return State::nothing;
    return end(got < 0 ? errno : 0);
}

StreamInput::State StreamInput::end(int error) {
    connection_.reset();
    auto const reconnect = address_.reconnect;
    if (can_come_again() && (reconnect == Reconnect::always || (reconnect == Reconnect::after_reset && error != 0)))
        return State::broken;
    if (error != 0) problem_ = fmt::format("reading from {} has failed ({})", address_.text, std::strerror(error));
    return State::ended;
}

} // namespace thalweg::source::raw
