#include "thalweg/dataset/append/equal_pages.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {

void EqualPages::begin_cluster(std::uint64_t cluster) {
    if (cluster == cluster_) return;
    cluster_ = cluster;
    entries_.clear();
    bytes_.clear();
}

std::optional<EqualPages::Place> EqualPages::find(std::uint64_t checksum, std::span<std::byte const> stored) const {
    auto const [begin, end] = entries_.equal_range(checksum);
    for (auto each = begin; each != end; ++each) {
        auto const& entry = each->second;
        if (std::ranges::equal(std::span(bytes_).subspan(entry.begin, entry.size_bytes), stored)) return entry.place;
    }
    return std::nullopt;
}

void EqualPages::add(std::uint64_t checksum, std::span<std::byte const> stored, Place const& place) {
    if (stored.size() > kMostPageBytes || bytes_.size() + stored.size() > kMostBytes) return;
    entries_.emplace(checksum, Entry{bytes_.size(), stored.size(), place});
    bytes_.insert(bytes_.end(), stored.begin(), stored.end());
    THALWEG_ASSERT(bytes_.size() <= kMostBytes, "the pages that are remembered are bounded");
}

} // namespace thalweg::dataset
