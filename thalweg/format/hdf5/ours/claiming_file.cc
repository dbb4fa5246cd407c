#include "thalweg/format/hdf5/ours/claiming_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr std::uint64_t kAlignmentBytes = 8;
constexpr std::byte kToken{};

[[noreturn]] void refuse(StoredRange const& page, std::string why) {
    base::fail_data({fmt::format("the page of {} bytes at offset {} cannot be linked", page.size_bytes, page.offset),
                     std::move(why)});
}

} // namespace

ClaimingFile::ClaimingFile(std::uint64_t begin, std::uint64_t superblock_offset)
    : begin_(base::round_up(begin, kAlignmentBytes)), superblock_offset_(superblock_offset) {}

void const* ClaimingFile::token() { return &kToken; }

void ClaimingFile::arm(StoredRange const& page) {
    if (link_ != Link::none) refuse(page, "another one is not linked yet");
    if (page.offset < base::kBlockBytes || page.offset + page.size_bytes > begin_) {
        refuse(page, fmt::format("pages lie between {} and {}", base::kBlockBytes, begin_));
    }
    THALWEG_ASSERT_COSTLY(linked_.insert(page.offset).second, "a page is linked once");
    page_ = page;
    link_ = Link::armed;
}

void ClaimingFile::disarm() {
    if (link_ != Link::written) refuse(page_, "libhdf5 did not take it");
    link_ = Link::none;
}

void ClaimingFile::disarm_allocated() {
    if (link_ != Link::allocated) refuse(page_, "libhdf5 did not take it");
    link_ = Link::none;
}

haddr_t ClaimingFile::allocate(H5FD_mem_t type, hsize_t size_bytes) {
    if (!has_superblock_) {
        if (type != H5FD_MEM_SUPER || size_bytes > kSuperblockBytes) {
            base::fail_data({"the superblock does not come first", "this libhdf5 is not the one that was tested"});
        }
        has_superblock_ = true;
        return superblock_offset_;
    }
    // Blocks of the chunk index are allocated in the same call, before or after the page: only the first allocation of
    // raw data is the page.
    if (link_ == Link::armed && type == H5FD_MEM_DRAW) return allocate_page(size_bytes);
    auto const offset = base::round_up(metadata_.size(), kAlignmentBytes);
    metadata_.resize(offset + size_bytes);
    return begin_ + offset;
}

haddr_t ClaimingFile::allocate_page(hsize_t size_bytes) {
    if (size_bytes != page_.size_bytes) refuse(page_, fmt::format("libhdf5 asks for {} bytes", size_bytes));
    link_ = Link::allocated;
    return page_.offset;
}

// 0 until there is a superblock: to libhdf5, a file with anything in it is one to be opened, not made.
haddr_t ClaimingFile::allocated_end() const { return has_superblock_ ? begin_ + metadata_.size() : 0; }

// By this libhdf5 makes the last block larger where it lies. It never shortens what was given out.
void ClaimingFile::set_allocated_end(haddr_t end) {
    if (has_superblock_ && end > allocated_end()) metadata_.resize(end - begin_);
}

bool ClaimingFile::is_superblock(haddr_t offset, std::size_t size_bytes) const {
    return offset >= superblock_offset_ && offset + size_bytes <= superblock_offset_ + kSuperblockBytes;
}

std::byte* ClaimingFile::locate(haddr_t offset, std::size_t size_bytes) {
    if (is_superblock(offset, size_bytes)) return superblock_.data() + (offset - superblock_offset_);
    if (offset >= begin_ && offset + size_bytes <= begin_ + metadata_.size()) {
        return metadata_.data() + (offset - begin_);
    }
    base::fail_data({fmt::format("libhdf5 wants {} bytes at offset {}", size_bytes, offset),
                     "no metadata lies there: only what it allocated itself is its own"});
}

void ClaimingFile::read(haddr_t offset, std::span<std::byte> bytes) {
    std::copy_n(locate(offset, bytes.size()), bytes.size(), bytes.data());
}

void ClaimingFile::write(haddr_t offset, std::span<std::byte const> bytes) {
    if (bytes.data() == token()) return write_token(offset, bytes.size());
    auto* const place = locate(offset, bytes.size());
    THALWEG_ASSERT(is_superblock(offset, bytes.size()) || offset >= begin_,
                   "no metadata is written in front of the end of the pages");
    std::copy_n(bytes.data(), bytes.size(), place);
}

void ClaimingFile::write_token(haddr_t offset, std::size_t size_bytes) {
    if (link_ != Link::allocated || offset != page_.offset || size_bytes != page_.size_bytes) {
        refuse(page_, fmt::format("libhdf5 writes {} bytes at offset {} instead: that chunk has a page already",
                                  size_bytes, offset));
    }
    link_ = Link::written;
}

} // namespace thalweg::format::hdf5::ours
