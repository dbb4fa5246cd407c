// The subcommands. Each measures one thing. Times are CPU times of threads unless their names say otherwise, in ns per
// item; the result names the item.
#pragma once

#include "studies/driver/subcommands.h"

namespace thalweg::study {

Json measure_hand_off(Arguments& arguments);    // descriptors from one thread to another
Json measure_flatten(Arguments& arguments);     // responses of many pieces, copied together or not, over loopback
Json measure_decode(Arguments& arguments);      // blocks into packets
Json measure_build(Arguments& arguments);       // blocks into packets into fragments, in one thread
Json measure_serve(Arguments& arguments);       // fragments to clients, and a bare write of the same bytes
Json measure_card(Arguments& arguments);        // the emulated card alone
Json measure_live(Arguments& arguments);        // card, handler, checking collector
Json measure_full_events(Arguments& arguments); // card, handlers, one durable file

// These answer lines instead of measuring by themselves: see farm.h.
Json measure_farm_handlers(Arguments& arguments);   // many handlers
Json measure_farm_collectors(Arguments& arguments); // many collectors

} // namespace thalweg::study
