// Types of values: as libhdf5 stores them, and as the LEGEND convention (lh5) names them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/schema.h"

namespace thalweg::format::hdf5 {

// Little endian; bool as h5py has it, an enum of int8, and complex as a compound of r and i.
TypeHandle make_type(model::Scalar scalar);

// A type as a file may have it: ours in either order of bytes, and arrays of such.
struct StoredType {
    model::Scalar scalar = model::Scalar::float64;
    bool big_endian = false;
    std::vector<std::uint64_t> shape; // of an array; empty: single values
};
// Returns nothing for types that Thalweg does not have: strings, other compounds, other numbers, ...
std::optional<StoredType> stored_type(hid_t type);

TypeHandle text_type(); // UTF-8, of any length

// "array<1>{real}" of single values, "array_of_equalsized_arrays<1,1>{real}" of items of rank 1, "array<3>{real}" of
// items of rank 2: as existing tools write and read them.
std::string lh5_array(std::size_t item_rank, std::string const& element);
std::string lh5_scalar(model::Scalar scalar);

} // namespace thalweg::format::hdf5
