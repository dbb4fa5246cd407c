// Columns of lists: lengths become one running sum.
#pragma once

#include "thalweg/format/hdf5/ours/chunk_grid.h"

namespace thalweg::format::hdf5::ours {

// Fills `dataset.pages` with the running sum of the lengths of `spans`, in new pages, and returns the spans of the
// items that are in those lists. The spans of each part ascend in `first`.
std::vector<ItemSpan> add_up_lengths(Dataset& dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages,
                                     ItemReader& reader, Appender& appender);

} // namespace thalweg::format::hdf5::ours
