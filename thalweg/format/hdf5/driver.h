// A virtual file driver for libhdf5. It decides nothing: an AddressSpace answers every question that libhdf5 asks.
//
//   libhdf5 calls      when                                                          the driver asks
//   open, close        create_file, open_file; the handle is closed                  nothing
//   alloc              it needs an address for metadata or for a chunk               allocate
//   free               it no longer needs one                                        nothing: no address is used again
//   get_eoa, set_eoa   before and after an allocation; to make the last block longer allocated_end, set_allocated_end
//   get_eof            it compares the size of the file with what it knows           file_end
//   read, write        metadata is read or flushed; a chunk is read or written       read, write
//
// An exception cannot cross libhdf5: each call keeps what is thrown (`keep_failure`), answers that it failed, and the
// caller of libhdf5 throws it again (`fail_hdf5`). All calls are made under the LibraryLock.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "thalweg/format/hdf5/handles.h"

namespace thalweg::format::hdf5 {

// A range of bytes of a file.
struct StoredRange {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

// Answers what libhdf5 asks of a file.
class AddressSpace {
  public:
    virtual ~AddressSpace() = default;

    virtual haddr_t allocate(H5FD_mem_t type, hsize_t size_bytes) = 0;
    // The end of the addresses that were given out.
    virtual haddr_t allocated_end() const = 0;
    virtual void set_allocated_end(haddr_t end) = 0;
    // The size of the file as libhdf5 may see it.
    virtual haddr_t file_end() const = 0;

    virtual void read(haddr_t offset, std::span<std::byte> bytes) = 0;
    virtual void write(haddr_t offset, std::span<std::byte const> bytes) = 0;
};

// What differs in a file whose superblock lies behind a user block.
struct UserBlock {
    std::uint64_t size_bytes = 0;
    unsigned chunk_tree_rank = 0; // half of it; the superblock has an extension that says so
};

// The space must outlive the handle. `path` is only shown in errors.
FileHandle create_file(AddressSpace& space, std::string const& path, UserBlock const& user_block = {});
FileHandle open_file(AddressSpace& space, std::string const& path);

} // namespace thalweg::format::hdf5
