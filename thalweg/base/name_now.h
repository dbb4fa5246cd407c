// An open file or folder may be renamed meanwhile: its descriptor still knows it.
#pragma once

#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::base {

// Returns a descriptor that follows the folder of `path`, whatever the folder is called later; an empty descriptor if
// the folder cannot be opened.
FileDescriptor hold_folder_of(std::string const& path);

// Returns the path at which an open file or folder is now. Returns empty text if it has none: it was removed, or this
// process does not find it there (another mount, no /proc).
std::string name_now(FileDescriptor const& file);

} // namespace thalweg::base
