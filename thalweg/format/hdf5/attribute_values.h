// Attributes of any type: numbers, texts, and arrays of these.
#pragma once

#include <functional>

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/attributes.h"

namespace thalweg::format::hdf5 {

// As h5py writes them: texts of any length in UTF-8, bool as its enum.
void write_attribute(hid_t object, model::Attribute const& attribute);

// Is told the name of an attribute that the model has no place for, and why.
using NotKept = std::function<void(std::string const& name, std::string const& why)>;

// All attributes of the object at a path, ascending by name. Big-endian numbers, and floats of two bytes, come as what
// holds them.
model::Attributes read_attributes(FileHandle const& file, std::string const& path, NotKept const& not_kept);

} // namespace thalweg::format::hdf5
