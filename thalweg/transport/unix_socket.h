#pragma once

#include <string>
#include <sys/types.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/transport/address.h"

namespace thalweg::transport {

// Returns the address of a socket at a path. Throws base::UsageError if there can be none.
Address unix_address(std::string const& path);

// A socket at a path to which only the user of this process (and root) may connect. The path is removed at the end.
class UnixListener {
  public:
    // Replaces a socket that a dead program left. Throws base::UsageError if the path is too long for a socket, or
    // another kind of file is there; base::SystemError if another program listens there, or the folder does not exist.
    explicit UnixListener(std::string path, int backlog = 64);
    UnixListener(UnixListener const&) = delete;
    UnixListener& operator=(UnixListener const&) = delete;
    ~UnixListener();

    base::FileDescriptor const& socket() const { return socket_; }
    std::string const& path() const { return path_; }

  private:
    std::string path_;
    base::FileDescriptor socket_;
    ino_t file_ = 0; // identity of the file at this path
};

} // namespace thalweg::transport
