// Asks what a file is and how large it is. Of a file system that several machines share, its server is asked: what this
// machine keeps of an earlier answer may be old.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::base {

// As file systems keep it.
struct FileMoment {
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;
};

struct FreshStatus {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t links = 0;
    std::uint64_t size_bytes = 0;
    std::optional<FileMoment> born = {}; // nothing if the file system does not keep it
};

// Returns nothing if there is no such file. Throws SystemError if the system cannot say.
std::optional<FreshStatus> fresh_status(std::string const& path);

// `path`: for the error alone.
FreshStatus fresh_status(int fd, std::string const& path);

} // namespace thalweg::base
