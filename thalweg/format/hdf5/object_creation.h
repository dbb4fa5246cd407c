// How groups and datasets are made: without the time, so that a run that is completed again has the same bytes.
#pragma once

#include <string>

#include "thalweg/format/hdf5/handles.h"

namespace thalweg::format::hdf5 {

// Returns the properties of new objects: H5P_FILE_CREATE (for the root group), H5P_GROUP_CREATE or H5P_DATASET_CREATE.
PropertyHandle creation_properties(hid_t kind);

// Returns the properties of new links: their names are UTF-8.
hid_t link_properties();

GroupHandle make_group(FileHandle const& handle, std::string const& path);

// Makes all groups that are missing on the way to `path`.
void make_groups_above(FileHandle const& handle, std::string const& path);

} // namespace thalweg::format::hdf5
