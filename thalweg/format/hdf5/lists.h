// Columns of lists: lengths become one running sum, values stay in parts.
#pragma once

#include "thalweg/format/hdf5/grid.h"

namespace thalweg::format::hdf5 {

// Fills `dataset.pages` with the running sum of the lengths of `spans`, in new pages, and returns the spans of the
// items that are in those lists. The spans of each part ascend in `first`.
std::vector<Span> add_up_lengths(Dataset& dataset, std::vector<Span> const& spans, PagesByPart const& pages,
                                 ItemReader& reader, Appender& appender);

// The values inside lists: a dataset for each part, on the grid of that part's own pages, and a virtual one in front of
// them. Where one part alone holds all items, it is the dataset itself. `dataset` says what each of them is like.
void lay_out_parts(FilePlan& plan, Dataset dataset, std::vector<Span> const& spans, PagesByPart const& pages,
                   ItemReader& reader, Appender& appender);

} // namespace thalweg::format::hdf5
