// Attributes that are texts, and small numbers.
#pragma once

#include <optional>
#include <string>

#include "thalweg/format/hdf5/handles.h"

namespace thalweg::format::hdf5 {

// Of any length: the text itself lies in the file's heap, not in the head of the object.
void write_text(hid_t object, std::string const& name, std::string const& value);
void write_number(hid_t object, std::string const& name, std::uint64_t value);

// None where there is no such attribute. Throws base::DataError where it is something else than one text.
std::optional<std::string> read_text(hid_t object, std::string const& name);
std::optional<std::uint64_t> read_number(hid_t object, std::string const& name);

} // namespace thalweg::format::hdf5
