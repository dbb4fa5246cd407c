// A card can send a pattern instead of samples. In the right order of bits it changes little from sample to sample.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "thalweg/source/acqiris/options.h"

namespace thalweg::source::acqiris {

// Returns how samples of 10 bits must be unpacked so that neighbours differ least: "sample_order = 'low-first' and
// signed = false". Empty: the settings are those already, or all of them fit alike.
std::string better_unpacking(std::span<std::byte const> packed, std::size_t samples, Options const& options);

} // namespace thalweg::source::acqiris
