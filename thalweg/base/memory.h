// Owned regions of memory: aligned for O_DIRECT, private, or shared between processes by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/huge_pages.h"

namespace thalweg::base {

enum class PageSize {
    ordinary,
    huge, // 2 MiB, if the system has them; the buffer is aligned to them
};

// Zeroed anonymous memory, page-aligned (so fit for O_DIRECT).
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(std::size_t size_bytes, PageSize page_size = PageSize::ordinary);
    AlignedBuffer(AlignedBuffer&& other) noexcept;
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
    ~AlignedBuffer();

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_bytes_; }
    std::span<std::byte> bytes() const { return {data_, size_bytes_}; }

  private:
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

// The folder that takes named memory if /dev/shm has no room for it.
struct MemoryFallback {
    std::string folder = {};     // empty: there is none
    std::string suggestion = {}; // for an error: what to do about it
};

// How large memory is made.
struct MemorySize {
    MemorySize(std::size_t size) : bytes(size), allocated_bytes(size) {}
    MemorySize(std::size_t size, std::size_t allocated) : bytes(size), allocated_bytes(allocated) {}

    std::size_t bytes;
    std::size_t allocated_bytes; // of the first of them; a caller that uses more calls `allocate` before
};

// Memory that several processes see under one name (mode 0600), or, with an empty name, private memory with the same
// interface. A plain name lies in /dev/shm; a name with a '/' is the path of a file in a folder: slower by some
// percent, and just as safe from the death of all processes. Its pages are allocated when it is created, so that a full
// place is an error here and never a SIGBUS later. The creator unlinks the name when it is destroyed, unless `keep` was
// called.
class SharedMemory {
  public:
    SharedMemory() = default;
    static SharedMemory create(std::string const& name, MemorySize const& size);
    // Creates memory with a plain name in /dev/shm, or in the folder if /dev/shm has no room or does not exist. Throws
    // SystemError with the reasons of both.
    static SharedMemory create_where_room(std::string const& name, MemorySize const& size,
                                          MemoryFallback const& fallback);
    static SharedMemory create_private(std::size_t size_bytes);
    // Throws SystemError (ENOENT) where there is no such segment.
    static SharedMemory attach(std::string const& name);

    // Attaches memory with a plain name from /dev/shm, or else from the folder, unless that is empty.
    static SharedMemory attach_where_it_is(std::string const& name, std::string const& folder);

    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    std::string const& name() const { return name_; }
    std::byte* data() const { return data_; }
    std::size_t size() const { return size_bytes_; }
    explicit operator bool() const { return data_ != nullptr; }

    // Whole blocks from `offset` on. Throws SystemError where there is no room.
    void allocate(std::size_t offset, std::size_t size_bytes) const;
    // Gives the memory of whole blocks back to the system: their bytes are lost, and they want `allocate` again.
    void give_back(std::size_t offset, std::size_t size_bytes) const;

    // Moves what lies there into huge pages. The system gives none to private memory, nor to memory in a folder.
    HugePages move_into_huge_pages(std::size_t offset, std::size_t size_bytes) const;

    // Leave the name in place when this object goes: another process will unlink it.
    void keep() { owner_ = false; }
    // Take on the unlinking of an attached segment.
    void adopt() { owner_ = !name_.empty(); }
    static void unlink(std::string const& name);
    // The same memory has another name from then on, and is there until both are unlinked. Both are in /dev/shm, or in
    // folders of one file system.
    static void link(std::string const& name, std::string const& other);
    // Names that begin with `prefix`: in /dev/shm, or, where it has a '/', in that folder.
    static std::vector<std::string> list(std::string const& prefix);
    static std::string path_of(std::string const& name);

  private:
    static SharedMemory simulated(std::string const& name, std::span<std::byte> bytes, bool owner);

    std::string name_;
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
    bool owner_ = false;
    std::int32_t owner_pid_ = 0; // a forked child never unlinks what its parent created
    bool simulated_ = false;     // its bytes belong to the stand-in
};

// The name of memory in a folder; in /dev/shm where that is empty.
std::string name_in_folder(std::string const& folder, std::string const& name);

} // namespace thalweg::base
