// The attributes by which tools of the LEGEND convention (lh5), and users, know what an object is.
#pragma once

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/schema.h"

namespace thalweg::format::hdf5::ours {

// Writes the attributes of the root, of every table and of every field in it. All objects exist already.
void describe_tables(model::Schema const& schema, FileHandle const& handle);

} // namespace thalweg::format::hdf5::ours
