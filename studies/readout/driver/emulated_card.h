// The card of a measurement, as a process.
#pragma once

#include "studies/readout/driver/child.h"
#include "thalweg/felix/card.h"

namespace thalweg::study {

// Reads the options --elinks, --buffers, --buffer-bytes, --sizes, --rate-hz, --events, and makes a unique name.
felix::CardOptions card_options(Arguments& arguments);

// Runs until the stop sign, or until all events are sent: {"packets", "cpu_ns", "wall_ns", "stall_ns"}.
Json run_card(felix::CardOptions const& options, StopSign const& stop);

} // namespace thalweg::study
