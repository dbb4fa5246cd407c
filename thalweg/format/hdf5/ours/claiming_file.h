// The address space of an HDF5 file that is being completed: pages lie in it already, metadata is added behind them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "thalweg/format/hdf5/driver.h"

namespace thalweg::format::hdf5::ours {

// Nothing of it is written to storage: the metadata is gathered here, and whoever completes the file writes it, and the
// superblock after it.
//
// To link a page: `arm` with where it lies, H5Dwrite_chunk with its size and `token()` for its data, `disarm`. The
// allocation that libhdf5 makes for the page is answered with the page's address, and writing the token writes nothing.
class ClaimingFile final : public AddressSpace {
  public:
    static constexpr std::size_t kSuperblockBytes = 512; // room for it: one sector, so that it is written whole

    // Metadata begins at `begin`; all pages lie before.
    explicit ClaimingFile(std::uint64_t begin);

    static void const* token();
    void arm(StoredRange const& page);
    // Throws base::DataError where libhdf5 did not take the page.
    void disarm();
    // For what is no chunk: the bytes of a contiguous dataset that is allocated early lie there from its creation on.
    void disarm_allocated();

    std::uint64_t begin() const { return begin_; }
    std::span<std::byte const> metadata() const { return metadata_; }
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

    std::uint64_t begin_;
    bool has_superblock_ = false;
    std::array<std::byte, kSuperblockBytes> superblock_{};
    std::vector<std::byte> metadata_;
    StoredRange page_;
    Link link_ = Link::none;
};

} // namespace thalweg::format::hdf5::ours
