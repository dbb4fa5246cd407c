#include "thalweg/format/hdf5/reading_file.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::uint64_t kBlockBytes = 256 * base::kKiB;
constexpr std::size_t kMaxBlocks = 64;

std::byte location_token{};

[[noreturn]] void refuse_change(storage::Storage const& file) {
    base::fail_usage({file.path() + " cannot be changed", "it is open for reading"});
}

} // namespace

void* ReadingFile::token() { return &location_token; }

std::optional<StoredRange> ReadingFile::take_location() { return std::exchange(location_, std::nullopt); }

haddr_t ReadingFile::allocate(H5FD_mem_t, hsize_t) { refuse_change(file_); }

void ReadingFile::write(haddr_t, std::span<std::byte const>) { refuse_change(file_); }

void ReadingFile::read(haddr_t offset, std::span<std::byte> bytes) {
    if (bytes.data() == token()) {
        location_ = {offset, bytes.size()};
        return;
    }
    if (!keeps_blocks_ && offset < file_end_) {
        auto const count = std::min(bytes.size(), file_end_ - offset);
        file_.read(offset, bytes.first(count));
        bytes = bytes.subspan(count);
    }
    while (keeps_blocks_ && !bytes.empty() && offset < file_end_) {
        auto const from = block(offset / kBlockBytes).subspan(offset % kBlockBytes);
        auto const count = std::min(from.size(), bytes.size());
        std::copy_n(from.begin(), count, bytes.begin());
        bytes = bytes.subspan(count);
        offset += count;
    }
    std::fill(bytes.begin(), bytes.end(), std::byte{}); // libhdf5 looks for its signature behind the end, too
}

std::span<std::byte const> ReadingFile::block(std::uint64_t index) {
    if (auto const found = blocks_.find(index); found != blocks_.end()) return found->second;
    if (blocks_.size() >= kMaxBlocks) blocks_.clear();
    std::vector<std::byte> bytes(std::min(kBlockBytes, file_end_ - index * kBlockBytes));
    file_.read(index * kBlockBytes, bytes);
    return blocks_[index] = std::move(bytes);
}

} // namespace thalweg::format::hdf5
