// Data handlers as the measurements configure them.
#pragma once

#include "studies/driver/subcommands.h"
#include "thalweg/felix/card.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/handler/handler.h"

namespace thalweg::study {

// Configures the handler of the card's buffer `index`. Options are --mode build|relay, --streams (of a group),
// --builders, --servers (threads), --slots (of the index), --iovec, --pinning.
readout::HandlerConfig handler_config(Arguments& arguments, felix::CardOptions const& card, std::uint32_t index);

std::uint64_t packets_of(readout::Handler::Report const& report);
// Returns sums over groups and streams: counters that should be zero, and complete events.
Json books_of(readout::Handler::Report const& report);

} // namespace thalweg::study
