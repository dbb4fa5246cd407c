#pragma once

#include <string>

#include "thalweg/format/format.h"

namespace thalweg::dataset {

// The format that the extension of the file's name asks for. Throws base::UsageError for names that no format knows.
format::Format const& format_for(std::string const& path);

} // namespace thalweg::dataset
