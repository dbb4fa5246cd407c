// The values inside lists stay in parts: no row number of a table says where they would lie on one grid.
#pragma once

#include "thalweg/format/hdf5/ours/chunk_grid.h"
#include "thalweg/format/hdf5/ours/file_plan.h"

namespace thalweg::format::hdf5::ours {

// The values inside lists: a dataset for each part with a page or more, on the grid of that part's own pages, one more
// for the items of all other parts, and a virtual one in front of them. Where one part alone holds all items, or none
// has a page, it is the dataset itself. `dataset` says what each of them is like.
void lay_out_parts(FilePlan& plan, Dataset dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages,
                   ItemReader& reader, Appender& appender);

} // namespace thalweg::format::hdf5::ours
