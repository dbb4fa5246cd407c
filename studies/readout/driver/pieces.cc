#include "studies/readout/driver/pieces.h"

#include <algorithm>
#include <numeric>

#include "thalweg/base/units.h"

namespace thalweg::study {
namespace {

constexpr std::size_t kMemoryBytes = 64 * base::kMiB;
constexpr std::size_t kLine = 64; // pieces begin at cache lines

} // namespace

Pieces::Pieces(std::vector<std::size_t> const& sizes, std::size_t fragments)
    : memory_(kMemoryBytes), sizes_(sizes), fragments_(fragments),
      response_bytes_(fragments_ * std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0})) {
    std::ranges::fill(memory_.bytes(), std::byte{0x5A}); // otherwise all of it would be one page of zeros
}

std::vector<iovec>& Pieces::next() {
    response_.clear();
    for (std::size_t fragment = 0; fragment < fragments_; ++fragment) {
        for (auto const size : sizes_) {
            if (position_ + size > memory_.size()) position_ = 0;
            response_.push_back({memory_.data() + position_, size});
            position_ += (size + kLine - 1) / kLine * kLine;
        }
    }
    return response_;
}

} // namespace thalweg::study
