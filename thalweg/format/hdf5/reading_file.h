// The address space of a file that is only read.
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/format/hdf5/driver.h"
#include "thalweg/format/hdf5/kept_reads.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// With `keeps_reads`, what was read is kept (not of a file that is being written: later reads must not be older).
// To learn where a chunk lies, H5Dread_chunk with `token()` for its buffer, then
// `take_location`: what would have been read is noted, and not read.
class ReadingFile final : public AddressSpace {
  public:
    explicit ReadingFile(storage::Storage const& file, bool keeps_reads = true) : file_(file), file_end_(file.size()) {
        if (keeps_reads) kept_.emplace(file);
    }

    static void* token();
    // Returns the range that the last read into the token would have read; none if there was no such read.
    std::optional<StoredRange> take_location();

    storage::Storage const& storage() const { return file_; }
    bool keeps_reads() const { return kept_.has_value(); }

    haddr_t allocate(H5FD_mem_t type, hsize_t size_bytes) override;
    haddr_t allocated_end() const override { return allocated_end_; }
    void set_allocated_end(haddr_t end) override { allocated_end_ = end; }
    haddr_t file_end() const override { return file_end_; }
    void read(haddr_t offset, std::span<std::byte> bytes) override;
    void write(haddr_t offset, std::span<std::byte const> bytes) override;

  private:
    storage::Storage const& file_;
    std::uint64_t file_end_;
    std::uint64_t allocated_end_ = 0;
    std::optional<StoredRange> location_;
    std::optional<KeptReads> kept_;
};

} // namespace thalweg::format::hdf5
