// Makes the datasets of a plan: their pages are linked, never written.
#pragma once

#include "thalweg/format/hdf5/claiming_file.h"
#include "thalweg/format/hdf5/plan.h"

namespace thalweg::format::hdf5 {

void link_datasets(FilePlan const& plan, FileHandle const& handle, ClaimingFile& file);

// One dataset alone. `handle` is of `file`.
void link_dataset(Dataset const& dataset, FileHandle const& handle, ClaimingFile& file);

} // namespace thalweg::format::hdf5
