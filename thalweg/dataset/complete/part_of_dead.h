// What the killed processes of one node have left in the memory of this machine. If the other nodes go on without that
// node, a process here can still add it to the journal of the node, before they complete the file.
#pragma once

#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

// Appends to the journal of this node what its producers had published, and removes their memory. Returns true if the
// journal has all of it then, durably. Returns false if that memory is not on this machine, or if a process of the node
// lives. Throws base::SystemError if the machine refuses (a full disk): the memory stays then.
bool journal_part_of_dead(RunPlace const& place);

} // namespace thalweg::dataset
