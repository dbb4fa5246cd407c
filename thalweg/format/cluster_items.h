// Which items of each column belong to a cluster.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thalweg/format/item_reader.h"
#include "thalweg/model/column.h"
#include "thalweg/model/page.h"

namespace thalweg::format {

// The pages of a cluster in one column; they follow each other.
std::span<model::Page const> pages_of_cluster(std::span<model::Page const> pages, model::Cluster const& cluster);

// Returns how many elements these lists hold.
std::uint64_t sum_of_lengths(ItemReader& reader, std::span<model::Page const> pages, model::Column const& column,
                             model::RowRange const& items);

// By column. `readers`: one for each lengths column, asked only where the cluster was never ended (the items inside its
// lists begin where those of the clusters before it end). `begins`: by column, the item that the pages of the part
// begin with; empty: 0.
std::vector<model::RowRange> items_of_cluster(std::vector<model::Column> const& columns, model::Part const& part,
                                              model::Cluster const& cluster,
                                              std::span<std::optional<ItemReader>> readers,
                                              std::span<std::uint64_t const> begins = {});

} // namespace thalweg::format
