// While a run is open: which clusters are in the file with all their pages, for the next interim footer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/format/format.h"

namespace thalweg::dataset {

class ClusterCollector {
  public:
    explicit ClusterCollector(model::RunHead const& head) : head_(head) {}

    // Those that ended before the run was resumed.
    void begin_with(std::vector<std::pair<std::size_t, format::ClusterPages>> clusters) {
        ended_ = std::move(clusters);
    }
    // What a producer announced, in the order in which it did.
    void take(std::size_t table, std::span<PageRecord const> records);
    // Passes on the clusters that have ended since the last call, in that order.
    void hand_over(format::InterimMetadata& interim);

  private:
    using Key = std::pair<std::uint32_t, std::uint64_t>; // producer, first row

    model::RunHead const& head_;
    std::map<Key, format::ClusterPages> open_;
    std::vector<std::pair<std::size_t, format::ClusterPages>> ended_; // with the table
};

} // namespace thalweg::dataset
