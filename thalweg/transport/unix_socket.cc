#include "thalweg/transport/unix_socket.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

base::FileDescriptor make_local_socket(std::string const& path) {
    base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) base::fail_system({"cannot make a socket for " + path}, errno);
    return socket;
}

bool bind_to(base::FileDescriptor const& socket, Address const& address) {
    return ::bind(socket.get(), reinterpret_cast<sockaddr const*>(&address.storage), address.size_bytes) == 0;
}

ino_t file_at(std::string const& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

// Removes a socket at which no program listens: a dead program left it.
void remove_left_over(std::string const& path, Address const& address) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return;
    if (!S_ISSOCK(found.st_mode))
        base::fail_usage({"cannot listen at " + path, "there is a file that is no socket", "choose another path"});
    auto const caller = make_local_socket(path);
    if (::connect(caller.get(), reinterpret_cast<sockaddr const*>(&address.storage), address.size_bytes) == 0 ||
        errno == EAGAIN)
        base::fail_system({"cannot listen at " + path, "another program listens there", "choose another path"},
                          EADDRINUSE);
    if (errno == ECONNREFUSED) ::unlink(path.c_str());
}

} // namespace

Address unix_address(std::string const& path) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof local.sun_path || path.find('\0') != path.npos)
        base::fail_usage(
            {fmt::format("\"{}\" cannot be a socket", path),
             fmt::format("its path has {} bytes, and 1 to {} are possible", path.size(), sizeof local.sun_path - 1),
             "choose a shorter path"});
    std::memcpy(local.sun_path, path.data(), path.size());
    Address address{.size_bytes = sizeof local};
    std::memcpy(&address.storage, &local, sizeof local);
    return address;
}

UnixListener::UnixListener(std::string path, int backlog) : path_(std::move(path)) {
    auto const address = unix_address(path_);
    auto socket = make_local_socket(path_);
    // The file gets the mode of the socket (without the umask bits) when it is created.
    if (::fchmod(socket.get(), 0600) != 0) base::fail_system({"cannot protect the socket " + path_}, errno);
    if (!bind_to(socket, address)) {
        if (errno != EADDRINUSE) base::fail_system({"cannot listen at " + path_}, errno);
        remove_left_over(path_, address);
        if (!bind_to(socket, address)) base::fail_system({"cannot listen at " + path_}, errno);
    }
    if (::listen(socket.get(), backlog) != 0) {
        int const code = errno;
        ::unlink(path_.c_str());
        base::fail_system({"cannot listen at " + path_}, code);
    }
    socket_ = std::move(socket);
    file_ = file_at(path_);
}

UnixListener::~UnixListener() {
    if (file_at(path_) == file_) ::unlink(path_.c_str()); // but not a file that another program has put there since
}

} // namespace thalweg::transport
