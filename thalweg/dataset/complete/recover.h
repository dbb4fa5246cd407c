// Recovers a run after a crash: takes it over (take_over.h), completes its file (complete.h), and removes its journals.
#pragma once

#include <string>
#include <vector>

#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

struct RecoverOptions {
    // Confirms that no machine writes this run any more. Needed for runs of several nodes, since this machine cannot
    // ask the others.
    bool all_nodes_are_down = false;
};

// Completes the run at `path` from its journals and from what its producers left in shared memory, and removes both.
// Throws base::UsageError if there is nothing to recover or if the run is still being written, and base::DataError if
// file and journal do not belong together.
CompleteResult recover(std::string const& path, RecoverOptions const& options = {});

// Removes the journals of a run, durably, and its shared memory on this machine.
void remove_journals(std::vector<RunPlace> const& places, Journals const& journals, std::string const& run_id);

} // namespace thalweg::dataset
