// A data file whose first bytes do not say whose it is, since a power cut has taken a part of them.
#pragma once

#include "thalweg/dataset/complete/complete.h"

namespace thalweg::dataset {

inline constexpr std::size_t kLastWriteBytes = 512; // of both containers: one sector, at offset 0

// The file is the one that the journal was begun with, does not say that it is the run's, and is so but for what a
// power cut may have taken.
bool may_have_torn_beginning(UnfinishedRun const& run);

// Of a run that goes on: writes the sector again as the run has begun, where it does not say whose the file is.
void mend_torn_beginning(UnfinishedRun const& run);

} // namespace thalweg::dataset
