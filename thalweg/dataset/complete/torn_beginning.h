// Handles a data file whose first bytes do not say whose it is, because a power cut has taken a part of them.
#pragma once

#include "thalweg/dataset/complete/take_over.h"

namespace thalweg::dataset {

// Returns true if the file is the one that the journal was begun with, and differs from a file of that run only in what
// a power cut may have taken, so that it does not say whose it is.
bool may_have_torn_beginning(UnfinishedRun const& run);

// Writes the first sector again as the run has begun, if it does not say whose the file is. For a run that goes on.
void mend_torn_beginning(UnfinishedRun const& run);

} // namespace thalweg::dataset
