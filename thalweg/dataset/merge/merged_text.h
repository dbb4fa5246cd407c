// Makes the text that a merged file keeps beside its RNTuples. For this folder's own .cc files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/merge/merge.h"
#include "thalweg/format/rntuple/merge.h"

namespace thalweg::dataset {

// Counts the work units of the result, and lists there what of the inputs is not kept. The result also has the tables
// of the file `beside`. `metadata` has entries that replace those of the inputs.
format::rntuple::MergedText merged_text(std::vector<format::rntuple::MergeInput> const& inputs,
                                        std::optional<format::rntuple::MergeInput> const& beside,
                                        std::map<std::string, std::string> const& metadata, MergeResult& result);

} // namespace thalweg::dataset
