// From the pages of clusters to their descriptions, one cluster behind the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/model/run.h"

namespace thalweg::format::rntuple {

// Describes the clusters of one table. Entries and elements are counted on from cluster to cluster.
class ClusterDescriber {
  public:
    ClusterDescriber(std::vector<model::Column> const& columns, model::TableLayout const& layout);

    // `pages`: by column.
    ClusterDescription describe(std::uint64_t rows, std::span<std::span<model::Page const> const> pages);

  private:
    struct Column {
        std::uint64_t values_per_item;
        std::uint32_t compression;
        std::uint64_t elements = 0; // so far
    };

    std::vector<Column> columns_;
    std::uint64_t entries_ = 0;
};

// What its description takes in a page list, at most: summary and frame, and of each column its frame, first element,
// compression and pages.
std::uint64_t described_bytes(ClusterDescription const& cluster);

ClusterGroup group_of(PageList const& list, EnvelopeLink const& link);

} // namespace thalweg::format::rntuple
