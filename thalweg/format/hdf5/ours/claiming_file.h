// The address space of an HDF5 file that is being completed: pages lie in it already, metadata is added behind them.
//
// Invariants
//   1. Pages lie between base::kBlockBytes and `begin`; metadata lies from `begin` on. No metadata is written in front
//      of it, but for the superblock, which has a sector: the first one or, while the run is open, the second one.
//   2. The superblock is the first thing that libhdf5 allocates. Until then `allocated_end` is 0, since libhdf5 takes a
//      file with anything in it for one to be opened.
//   3. `allocated_end` never falls. No address is given out twice.
//   4. A page is linked once, and with exactly its size.
//   5. Nothing is written to storage here. The caller writes metadata, syncs, writes the superblock, and syncs.
//
// States of the page that is being linked, and what moves them:
//
//             arm               allocate (raw data)            write (the token)             disarm
//   none ───────────→ armed ───────────────────────→ allocated ─────────────────→ written ───────────→ none
//                                                     └──────────── disarm_allocated ─────────────────→ none
//
//   - armed: the next allocation of raw data gets the address of the page. libhdf5 may allocate blocks of the chunk
//     index before and after it in the same call; these are other kinds of memory, and get new addresses.
//   - allocated: libhdf5 writes the chunk. The write is known by its data, which is `token()`, and writes no byte.
//   - Any other order, address or size is base::DataError: `disarm` throws unless the token was written, and a token
//     that comes for another address means that the chunk has a page already.
//   - A contiguous dataset is no chunk: its bytes lie where they are from its creation on, so that no write follows.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "thalweg/format/hdf5/driver.h"

namespace thalweg::format::hdf5::ours {

// To link a page, call `arm` with its place, H5Dwrite_chunk with its size and with `token()` for its data, and
// `disarm`.
class ClaimingFile final : public AddressSpace {
  public:
    // The room for the superblock: one sector, so that it is written as a whole.
    static constexpr std::size_t kSuperblockBytes = 512;

    explicit ClaimingFile(std::uint64_t begin, std::uint64_t superblock_offset = 0);

    static void const* token();
    void arm(StoredRange const& page);
    // Both throw base::DataError if libhdf5 did not take the page.
    void disarm();
    void disarm_allocated();

    std::uint64_t begin() const { return begin_; }
    std::span<std::byte const> metadata() const { return metadata_; }
    std::span<std::byte> metadata() { return metadata_; }
    std::span<std::byte const> superblock() const { return superblock_; }

    haddr_t allocate(H5FD_mem_t type, hsize_t size_bytes) override;
    haddr_t allocated_end() const override;
    void set_allocated_end(haddr_t end) override;
    haddr_t file_end() const override { return allocated_end(); }
    void read(haddr_t offset, std::span<std::byte> bytes) override;
    void write(haddr_t offset, std::span<std::byte const> bytes) override;

  private:
    enum class Link : std::uint8_t { none, armed, allocated, written };

    haddr_t allocate_page(hsize_t size_bytes);
    void write_token(haddr_t offset, std::size_t size_bytes);
    std::byte* locate(haddr_t offset, std::size_t size_bytes);
    bool is_superblock(haddr_t offset, std::size_t size_bytes) const;

    std::uint64_t begin_;
    std::uint64_t superblock_offset_;
    bool has_superblock_ = false;
    std::array<std::byte, kSuperblockBytes> superblock_{};
    std::vector<std::byte> metadata_;
    StoredRange page_;
    Link link_ = Link::none;
    std::set<std::uint64_t> linked_; // offsets; only where costly assertions are on
};

} // namespace thalweg::format::hdf5::ours
