// The settings of `--source caen`.
#pragma once

#include <span>

#include "thalweg/source.h"
#include "thalweg/source/caen/options.h"

namespace thalweg::source::caen {

// Returns what the source says of its settings, up to a null pointer.
thalweg_setting const* const* settings();

// Returns the values of these settings. Throws base::UsageError if one has no meaning.
Options options_of(std::span<thalweg_value const* const> values);

} // namespace thalweg::source::caen
