// The page map of a run that is still open, from its facts.
#pragma once

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

// Rows in the order that the finished file would have, were it closed now. Lengths are as producers sent them.
model::RunMap live_map(Gathered const& gathered, storage::Storage const& file, storage::Storage const& journal);

} // namespace thalweg::dataset
