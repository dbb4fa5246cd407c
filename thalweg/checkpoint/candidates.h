// The files of which the newest whole one is restored.
#pragma once

#include <string>
#include <vector>

namespace thalweg::checkpoint {

struct Candidates {
    std::vector<std::string> files;    // the newest first
    std::vector<std::string> ids;      // as they are read from the marks; "" for a mark that is damaged
    std::vector<std::string> problems; // sentences: which newer ones are missing
    std::vector<std::string> others;   // sentences: which files are none of these, though they have their names
};

// Returns `path`, and the older ones that its list has. Without a list, `path` has to be there, and those that follow
// it without a gap are taken for older ones: so it is, too, if the list cannot be read. Throws base::SystemError
// (ENOENT) if there are none, and base::DataError if there are files that only a damaged list could tell from others.
Candidates find_candidates(std::string const& path);

} // namespace thalweg::checkpoint
