#include "thalweg/base/file_descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::base {

void FileDescriptor::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

FileDescriptor open_file(std::string const& path, int flags, unsigned mode) {
    int const fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0) fail_system({"cannot open " + path}, errno);
    return FileDescriptor(fd);
}

void sync_directory_of(std::string const& path) {
    auto directory = std::filesystem::path(path).parent_path();
    if (directory.empty()) directory = ".";
    auto const fd = open_file(directory.string(), O_RDONLY | O_DIRECTORY);
    // Some file systems have no fsync of directories and say EINVAL: there is nothing more that we could do there.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) fail_system({"cannot sync the directory of " + path}, errno);
}

} // namespace thalweg::base
