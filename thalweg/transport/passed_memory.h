// Memory that one process fills and another one reads, passed over a Unix socket. The process that fills it makes it
// and seals it: its size never changes, and no other process can write to it. If the reader made it, the reader could
// shrink it, and the next write would kill the other process (SIGBUS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::transport {

// A region of the address space, which is unmapped at the end.
class Mapping {
  public:
    Mapping() = default;
    // Throws base::SystemError.
    Mapping(base::FileDescriptor const& file, std::size_t size_bytes, bool writable);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

// The side that fills the memory. It has the only mapping that can write.
struct SealedMemory {
    // All pages are allocated here, so that a machine without memory is an error and no signal later. Throws
    // base::SystemError, also if the kernel has no such seals (before Linux 5.1).
    static SealedMemory make(std::size_t size_bytes);

    base::FileDescriptor file; // to be passed on; the mapping does not need it
    Mapping mapping;
};

// The side that reads. Throws base::DataError if `file` could be shrunk, or has another size: then reading it could
// kill this process. Throws base::SystemError if it cannot be mapped.
Mapping map_sealed(base::FileDescriptor const& file, std::size_t size_bytes);

bool can_pass_files(base::FileDescriptor const& socket); // only a Unix socket can
// Sends `bytes` together with a file. Returns false if nothing was sent, because there is no room for all of it at
// once, or because the system lets no more files be on their way.
bool send_with_file(base::FileDescriptor const& socket, std::span<std::byte const> bytes,
                    base::FileDescriptor const& file);
// Does what receive_some() does. A file that comes with the bytes is put into `file`; further ones are closed.
Moved receive_with_file(base::FileDescriptor const& socket, std::span<std::byte> room, base::FileDescriptor& file);

} // namespace thalweg::transport
