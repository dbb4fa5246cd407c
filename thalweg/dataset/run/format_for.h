#pragma once

#include <string>

#include "thalweg/format/format.h"

namespace thalweg::dataset {

// The format that the extension of the file's name asks for. Throws base::UsageError for names that no format knows.
format::Format const& format_for(std::string const& path);

// The format that the first bytes say, whatever the name. What begins like no format is taken for HDF5, which says why
// it is none.
format::Format const& format_of(storage::Storage const& file);

} // namespace thalweg::dataset
