// Puts the pages of a column on the grid of its dataset.
#pragma once

#include <vector>

#include "thalweg/format/hdf5/ours/chunk_encoder.h"
#include "thalweg/format/item_reader.h"

namespace thalweg::format::hdf5::ours {

// Items of one part, and where in a dataset they go.
struct ItemSpan {
    std::size_t part = 0;
    std::uint64_t first = 0; // as the producer counted
    std::uint64_t count = 0;
    std::uint64_t at = 0;
};

// The pages of one column, by part.
using PagesByPart = std::vector<std::span<model::Page const>>;

// Fills `dataset.pages`. A page that is exactly a chunk stays where it is; the items of all other chunks are gathered
// into new pages. `spans` ascend in `at`; chunks without items get no page.
void lay_on_grid(Dataset& dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages, ItemReader& reader,
                 Appender& appender);

} // namespace thalweg::format::hdf5::ours
