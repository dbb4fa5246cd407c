#pragma once

#include <string>

#include "thalweg/format/format.h"

namespace thalweg::dataset {

// Returns the format that a file to be created has: the extension of its name asks for it. Throws base::UsageError for
// names that no format knows.
format::Format const& format_for(std::string const& path);

// Returns the format that the bytes of a file say, whatever its name is. What begins like no format is taken for the
// format of its name, which says what is missing. Throws base::UsageError if the name tells nothing either.
format::Format const& format_of(storage::Storage const& file);

} // namespace thalweg::dataset
