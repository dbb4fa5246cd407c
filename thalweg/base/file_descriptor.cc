#include "thalweg/base/file_descriptor.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/fresh_status.h"

namespace thalweg::base {

void FileDescriptor::reset() {
    if (fd_ >= 0) stand_in == nullptr ? static_cast<void>(::close(fd_)) : stand_in->close_file(fd_);
    fd_ = -1;
}

FileDescriptor open_file(std::string const& path, int flags, unsigned mode) {
    if (stand_in != nullptr) return FileDescriptor(stand_in->open_file(path, flags));
    int const fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0) fail_system({"cannot open " + path}, errno);
    return FileDescriptor(fd);
}

FileDescriptor duplicate(FileDescriptor const& file) {
    int const fd = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) fail_system({"cannot duplicate a file descriptor"}, errno);
    return FileDescriptor(fd);
}

bool try_lock_file(FileDescriptor const& file, std::string const& path, bool exclusive) {
    if (stand_in != nullptr) return stand_in->try_lock_file(file.get(), exclusive);
    if (::flock(file.get(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) fail_system({"cannot lock " + path}, errno);
    return false;
}

FileIdentity identity_of(FileDescriptor const& file) {
    if (stand_in != nullptr) return stand_in->identity_of(file.get());
    auto const status = fresh_status(file.get(), "an open file");
    return {status.device, status.inode, status.links};
}

std::optional<FileIdentity> identity_of(std::string const& path) {
    if (stand_in != nullptr) return stand_in->identity_of(path);
    auto const status = fresh_status(path);
    if (!status) return std::nullopt;
    return FileIdentity{status->device, status->inode, status->links};
}

bool is_directory(std::string const& path) {
    if (stand_in != nullptr) return stand_in->is_directory(path);
    std::error_code error;
    auto const kind = std::filesystem::status(path, error).type();
    if (error && kind != std::filesystem::file_type::not_found) fail_system({"cannot look at " + path}, error.value());
    return kind == std::filesystem::file_type::directory;
}

bool remove_file(std::string const& path) {
    if (stand_in != nullptr) return stand_in->remove_file(path);
    if (::unlink(path.c_str()) == 0) return true;
    if (errno != ENOENT) fail_system({"cannot remove " + path}, errno);
    return false;
}

bool make_directory(std::string const& path) {
    if (stand_in != nullptr) return stand_in->make_directory(path);
    if (::mkdir(path.c_str(), 0777) == 0) return true;
    if (errno != EEXIST) fail_system({"cannot create the directory " + path}, errno);
    return false;
}

bool make_label(std::string const& path, std::string const& text) {
    if (stand_in != nullptr) return stand_in->make_label(path, text);
    if (::symlink(text.c_str(), path.c_str()) == 0) return true;
    if (errno != EEXIST) fail_system({"cannot make the link " + path}, errno);
    return false;
}

std::optional<std::string> read_label(std::string const& path) {
    if (stand_in != nullptr) return stand_in->read_label(path);
    std::array<char, 256> text;
    auto const size = ::readlink(path.c_str(), text.data(), text.size());
    if (size >= 0) return std::string(text.data(), static_cast<std::size_t>(size));
    if (errno != ENOENT) fail_system({"cannot read the link " + path}, errno);
    return std::nullopt;
}

std::string behind_links(std::string const& path) {
    if (stand_in != nullptr) return path;
    std::error_code error;
    auto const kind = std::filesystem::symlink_status(path, error).type();
    if (error && kind != std::filesystem::file_type::not_found) fail_system({"cannot look at " + path}, error.value());
    if (kind != std::filesystem::file_type::symlink) return path;
    auto const target = std::filesystem::canonical(path, error);
    if (error && error != std::errc::no_such_file_or_directory)
        fail_system({"cannot follow the link " + path}, error.value());
    return error ? path : target.string();
}

void remove_directory(std::string const& path) {
    if (stand_in != nullptr) return stand_in->remove_directory(path);
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return;
    fail_system({"cannot remove the directory " + path}, errno);
}

std::vector<std::string> list_directory(std::string const& path) {
    if (stand_in != nullptr) return stand_in->list_directory(path);
    static_cast<void>(fresh_status(path)); // then a client of a network file system does not answer from memory
    std::vector<std::string> names;
    std::error_code error;
    // `increment` and not `++`, which would throw an error of another kind.
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
        names.push_back(entry->path().filename());
    // One that is there is not empty because it could not be opened.
    bool const is_gone = error == std::errc::no_such_file_or_directory && !fresh_status(path);
    if (error && !is_gone) fail_system({"cannot list the directory " + path}, error.value());
    return names;
}

void sync_directory_of(std::string const& path) {
    if (stand_in != nullptr) return stand_in->sync_directory_of(path);
    auto directory = std::filesystem::path(path).parent_path();
    if (directory.empty()) directory = ".";
    auto const fd = open_file(directory.string(), O_RDONLY | O_DIRECTORY);
    // Some file systems have no fsync of directories and say EINVAL: there is nothing more that we could do there.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) fail_system({"cannot sync the directory of " + path}, errno);
}

} // namespace thalweg::base
