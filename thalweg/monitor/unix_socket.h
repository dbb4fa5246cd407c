#pragma once

#include <string>
#include <sys/types.h>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::monitor {

// A socket at a path, which only the user of this process (and root) may connect to. The path is removed at the end.
class UnixListener {
  public:
    // What a program that is gone left there is replaced. Throws base::UsageError where the path is too long for a
    // socket, or something else is there; base::SystemError where another program listens there, or there is no folder.
    explicit UnixListener(std::string path);
    UnixListener(UnixListener const&) = delete;
    UnixListener& operator=(UnixListener const&) = delete;
    ~UnixListener();

    base::FileDescriptor const& socket() const { return socket_; }
    std::string const& path() const { return path_; }

  private:
    std::string path_;
    base::FileDescriptor socket_;
    ino_t file_ = 0; // which is at that path
};

} // namespace thalweg::monitor
