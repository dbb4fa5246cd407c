// A source whose pulses have features: beside the samples, or in their place.
#pragma once

#include <memory>
#include <string>

#include "thalweg/features/feature_rows.h"
#include "thalweg/source/source.h"

namespace thalweg::features {

// Returns a source that gives the rows of another one with their features (feature_rows.h). Tables without samples stay
// as they are. The other source must live longer. `configuration` becomes the metadata "features". Throws
// base::UsageError if no table has samples, or one cannot have features.
std::unique_ptr<source::Source> with_features(source::Source& source, FeatureRowOptions const& options,
                                              std::string const& configuration);

// Returns which samples of pulses are kept, in the words of the metadata "waveforms".
std::string waveforms_text(FeatureRowOptions const& options);

} // namespace thalweg::features
