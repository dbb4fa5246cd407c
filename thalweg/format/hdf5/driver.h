// A virtual file driver for libhdf5 whose every decision is made by an AddressSpace.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "thalweg/format/hdf5/handles.h"

namespace thalweg::format::hdf5 {

// Where bytes of a file lie.
struct StoredRange {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

// What libhdf5 asks of a file. Exceptions reach whoever called libhdf5, by way of `fail_hdf5`.
class AddressSpace {
  public:
    virtual ~AddressSpace() = default;

    virtual haddr_t allocate(H5FD_mem_t type, hsize_t size_bytes) = 0;
    // Up to where addresses are given out.
    virtual haddr_t allocated_end() const = 0;
    virtual void set_allocated_end(haddr_t end) = 0;
    // The size of the file as libhdf5 may see it.
    virtual haddr_t file_end() const = 0;

    virtual void read(haddr_t offset, std::span<std::byte> bytes) = 0;
    virtual void write(haddr_t offset, std::span<std::byte const> bytes) = 0;
};

// The space must outlive the handle. `path` is only shown.
FileHandle create_file(AddressSpace& space, std::string const& path);
FileHandle open_file(AddressSpace& space, std::string const& path);

} // namespace thalweg::format::hdf5
