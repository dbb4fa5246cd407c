// Asks what file system a path lies on.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::storage {

struct Space {
    std::uint64_t free_bytes = 0; // for this user
    std::uint64_t total_bytes = 0;
};

// Returns the space of the file system that holds `path`. The file need not exist yet; its directory must.
Space space_of(std::string const& path);
// The same for an open file, whatever it is called by now; `path` is for the message of an error.
Space space_of(base::FileDescriptor const& file, std::string const& path);

// "ext4", "xfs", "tmpfs", "overlayfs", ...; the hexadecimal magic number of one that is not known here.
std::string file_system_of(std::string const& path);
std::string file_system_of(base::FileDescriptor const& file, std::string const& path);

// Why files like the existing file at `path` are not for direct I/O; empty when they are.
std::string why_not_direct(std::string const& path);

} // namespace thalweg::storage
