#include "thalweg/format/hdf5/ours/appender.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr std::size_t kBlockBytes = 4 * base::kMiB;

}

std::uint64_t Appender::append(std::span<std::byte const> bytes) {
    THALWEG_ASSERT(waiting_.size() < kBlockBytes, "a full block is written at once");
    auto const offset = end();
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (waiting_.size() >= kBlockBytes) flush();
    return offset;
}

void Appender::flush() {
    if (waiting_.empty()) return;
    file_.write(offset_, waiting_);
    offset_ += waiting_.size();
    waiting_.clear();
}

} // namespace thalweg::format::hdf5::ours
