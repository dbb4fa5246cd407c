// Attributes that are texts, and small numbers.
#pragma once

#include <optional>
#include <string>

#include "thalweg/format/hdf5/handles.h"

namespace thalweg::format::hdf5 {

// Writes a text of any length: it lies in the file's heap, not in the head of the object.
void write_text(hid_t object, std::string const& name, std::string const& value);
void write_number(hid_t object, std::string const& name, std::uint64_t value);

// Return nothing if there is no such attribute. Throw base::DataError if it is not one text, or not one number.
std::optional<std::string> read_text(hid_t object, std::string const& name);
std::optional<std::uint64_t> read_number(hid_t object, std::string const& name);

} // namespace thalweg::format::hdf5
