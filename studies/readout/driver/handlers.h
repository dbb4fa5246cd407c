// Data Handlers as the measurements configure them.
#pragma once

#include "studies/driver/subcommands.h"
#include "thalweg/felix/card.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/handler/handler.h"

namespace thalweg::study {

// Of the card's buffer `index`. Options --mode build|relay, --streams (of a group), --builders, --servers (threads),
// --slots (of the index), --iovec, --pinning.
readout::HandlerConfig handler_config(Arguments& arguments, felix::CardOptions const& card, std::uint32_t index);

std::uint64_t packets_of(readout::Handler::Report const& report);
// Sums over groups and streams, of what should be nothing and of what became complete.
Json books_of(readout::Handler::Report const& report);

} // namespace thalweg::study
