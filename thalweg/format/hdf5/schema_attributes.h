// The attributes of all groups, tables and fields of a schema: onto the objects of a file, and from them.
#pragma once

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5 {

// Writes the attributes. All objects but groups without tables exist already.
void write_schema_attributes(model::Schema const& schema, FileHandle const& handle);

// Replaces those of the schema by what the file has. Not among them are the attributes that are something else in the
// schema (units and descriptions, as texts) or follow from it (datatype). What cannot be kept is added to `left_out`.
// `groups`: of each table, the path of the group that its fields lie in, which may have another name; "" is the root.
void read_schema_attributes(model::Schema& schema, FileHandle const& handle, std::vector<std::string> const& groups,
                            std::vector<model::LeftOut>& left_out);

// Returns the groups of a file of ours: those that have the names of the tables.
std::vector<std::string> groups_of_tables(model::Schema const& schema);

} // namespace thalweg::format::hdf5
