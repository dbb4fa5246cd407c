// The attributes by which tools of the LEGEND convention (lh5), and people, know what an object is.
#pragma once

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/schema.h"

namespace thalweg::format::hdf5::ours {

// Of the root, of every table and of every field in it. All objects are there already.
void describe_tables(model::Schema const& schema, FileHandle const& handle);

} // namespace thalweg::format::hdf5::ours
