#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/stand_in.h"

namespace thalweg::base {

// Owns one open file descriptor; empty when moved from or default-constructed.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset();

  private:
    int fd_ = -1;
};

// open(2) with O_CLOEXEC; throws SystemError naming the path.
FileDescriptor open_file(std::string const& path, int flags, unsigned mode = 0644);

// Returns another descriptor of the same open file: it has the same locks.
FileDescriptor duplicate(FileDescriptor const& file);

// Calls flock(2). Returns false if another process holds a lock that excludes this one.
bool try_lock_file(FileDescriptor const& file, std::string const& path, bool exclusive);

FileIdentity identity_of(FileDescriptor const& file);
// Returns nothing if there is no such file. All of these throw SystemError if the system cannot say.
std::optional<FileIdentity> identity_of(std::string const& path);
bool is_directory(std::string const& path);
// Returns false if there was none.
bool remove_file(std::string const& path);
// False where there is something of that name already.
bool make_directory(std::string const& path);
// An empty one; nothing happens where there is none, or where it is not empty.
void remove_directory(std::string const& path);
// A symbolic link to `text`, which is no file: the name and what it says come at once. False where the name is taken.
bool make_label(std::string const& path, std::string const& text);
// Returns nothing if there is none.
std::optional<std::string> read_label(std::string const& path);

// Returns the path of the file that a link leads to; `path` itself if it is no link, or leads to no file.
std::string behind_links(std::string const& path);
// Names, in no order; none where there is no such directory.
std::vector<std::string> list_directory(std::string const& path);

// Makes a file's creation, renaming or removal durable: fsync of the directory that holds `path`.
void sync_directory_of(std::string const& path);

} // namespace thalweg::base
