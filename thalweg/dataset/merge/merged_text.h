// Makes the text that a merged file keeps beside its RNTuples. For this folder's own .cc files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thalweg/dataset/merge/merge.h"
#include "thalweg/format/rntuple/merge.h"

namespace thalweg::dataset {

// Counts the work units of the result, and lists there what of the inputs is not kept. `metadata` has entries that
// replace those of the inputs.
format::rntuple::MergedText merged_text(std::vector<format::rntuple::MergeInput> const& inputs,
                                        std::map<std::string, std::string> const& metadata, MergeResult& result);

} // namespace thalweg::dataset
