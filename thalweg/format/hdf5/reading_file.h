// The address space of a file that is only read.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "thalweg/format/hdf5/claiming_file.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// Metadata is read in large blocks, which stay where `keeps_blocks` (not of a file that is being written: what is read
// later must not be older). To learn where a chunk lies, H5Dread_chunk with `token()` for its buffer, then
// `take_location`: what would have been read is noted, and not read.
class ReadingFile final : public AddressSpace {
  public:
    explicit ReadingFile(storage::Storage const& file, bool keeps_blocks = true)
        : file_(file), file_end_(file.size()), keeps_blocks_(keeps_blocks) {}

    static void* token();
    // What the last read into the token would have read; none where there was no such read.
    std::optional<StoredRange> take_location();

    storage::Storage const& storage() const { return file_; }
    bool keeps_blocks() const { return keeps_blocks_; }

    haddr_t allocate(H5FD_mem_t type, hsize_t size_bytes) override;
    haddr_t allocated_end() const override { return allocated_end_; }
    void set_allocated_end(haddr_t end) override { allocated_end_ = end; }
    haddr_t file_end() const override { return file_end_; }
    void read(haddr_t offset, std::span<std::byte> bytes) override;
    void write(haddr_t offset, std::span<std::byte const> bytes) override;

  private:
    std::span<std::byte const> block(std::uint64_t index);

    storage::Storage const& file_;
    std::uint64_t file_end_;
    bool keeps_blocks_;
    std::uint64_t allocated_end_ = 0;
    std::optional<StoredRange> location_;
    std::unordered_map<std::uint64_t, std::vector<std::byte>> blocks_;
};

} // namespace thalweg::format::hdf5
