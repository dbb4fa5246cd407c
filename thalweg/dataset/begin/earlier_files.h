// Files of one run that continue each other: what each says of the others in its metadata, and which keys of work units
// the earlier ones have. See docs/decisions/0041.
#pragma once

#include <string>
#include <vector>

#include "thalweg/dataset/begin/metadata.h"
#include "thalweg/dataset/journal/unit_key.h"

namespace thalweg::dataset {

// Returns what the file says that continues the one at `path`, and what that one says about it. Names are without
// folders, so that all can be moved together.
Metadata previous_file(std::string const& path, std::string const& run_id);
Metadata next_file(std::string const& path, std::string const& run_id);

// Throws base::UsageError if the metadata of the run at `path` say that it goes on in another file.
void check_not_continued(std::string const& path, Metadata const& metadata);

// Returns the keys of all units in the files that the run at `path`, with these metadata, continues. Throws
// base::UsageError if one of these is not there, not complete, or of another run.
std::vector<UnitKey> keys_of_earlier_files(std::string const& path, Metadata metadata);

} // namespace thalweg::dataset
