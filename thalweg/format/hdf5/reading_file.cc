#include "thalweg/format/hdf5/reading_file.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

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
    if (offset < file_end_) {
        auto const count = std::min(bytes.size(), file_end_ - offset);
        (kept_ ? *kept_ : file_).read(offset, bytes.first(count));
        bytes = bytes.subspan(count);
    }
    std::fill(bytes.begin(), bytes.end(), std::byte{}); // libhdf5 looks for its signature behind the end, too
}

} // namespace thalweg::format::hdf5
