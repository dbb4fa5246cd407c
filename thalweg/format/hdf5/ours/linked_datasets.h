// Makes the datasets of a plan: their pages are linked, never written.
#pragma once

#include "thalweg/format/hdf5/ours/claiming_file.h"
#include "thalweg/format/hdf5/ours/file_plan.h"

namespace thalweg::format::hdf5::ours {

void link_datasets(FilePlan const& plan, FileHandle const& handle, ClaimingFile& file);

// One dataset alone. `handle` is of `file`.
void link_dataset(Dataset const& dataset, FileHandle const& handle, ClaimingFile& file);

} // namespace thalweg::format::hdf5::ours
