// One channel of the emulated card, in its two ways of working.
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/source/digitizer.h"
#include "thalweg/source/pulse_pool.h"

namespace thalweg::source {

// As fast as it is read: nothing waits on board, nothing is lost, and the card's clock runs as it will.
std::unique_ptr<StreamReader> make_free_reader(DigitizerOptions const& options, std::uint32_t channel,
                                               std::shared_ptr<PulsePool const> pool);

// By the wall clock: records wait in the on-board memory, and when that is full triggers are lost.
std::unique_ptr<StreamReader> make_clocked_reader(DigitizerOptions const& options, std::uint32_t channel,
                                                  std::shared_ptr<PulsePool const> pool);

} // namespace thalweg::source
