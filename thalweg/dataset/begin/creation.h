// The place of a new run: what is there before, and what is left of a creation that fails.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

// Throws base::UsageError if the folder of a new run does not exist, or if its path is that of a directory.
void check_folder_of(std::string const& path);

// Returns exclusive locks on the journals of the run at `path`, which is to be replaced. Throws base::UsageError if a
// process writes that run, or recovers it.
std::vector<base::FileDescriptor> lock_for_creation(std::string const& path, std::vector<RunPlace> const& places);

// Makes room for a new run at `path`, where a creation that died may have left something. Throws base::UsageError if a
// file or a run is there: `SetAside` makes room if it may be replaced.
void clear_place(std::string const& path);

// Removes an unfinished run with its journals and its memory. No other process may know of it, or its locks are held.
void remove_run_at(std::string const& path);

// Makes the journal, empty, which makes the place this creation's. Throws base::SystemError (EEXIST) if another one was
// faster.
JournalFiles take_place(RunPlace const& place);

// Closes and removes what a creation that failed has left: there is nothing in it to recover. If other nodes have begun
// to write, they are told `why`, and all stays. (What is closed first may be what the removal needs, if the process may
// have no more files open.)
void remove_traces(OpenRun& run, RunPlace const& place, std::string const& why);

} // namespace thalweg::dataset
