// The two ways in which one channel of the emulated card works.
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/source/digitizer.h"
#include "thalweg/source/pulse_pool.h"

namespace thalweg::source {

// Works as fast as it is read: nothing waits on board, nothing is lost, and the card's clock is free.
std::unique_ptr<StreamReader> make_free_reader(DigitizerOptions const& options, std::uint32_t channel,
                                               std::shared_ptr<PulsePool const> pool);

// Works by the wall clock: records wait in the on-board memory, and triggers are lost while it is full.
std::unique_ptr<StreamReader> make_clocked_reader(DigitizerOptions const& options, std::uint32_t channel,
                                                  std::shared_ptr<PulsePool const> pool);

} // namespace thalweg::source
