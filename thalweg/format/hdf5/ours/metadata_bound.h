// How much a file can grow while it is completed, beside the rows that are still in the journal.
#pragma once

#include "thalweg/format/format.h"

namespace thalweg::format::hdf5::ours {

// As format::Format::metadata_bound.
MetadataBound metadata_bound(model::RunHead const& head);

} // namespace thalweg::format::hdf5::ours
