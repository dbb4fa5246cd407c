#pragma once

#include <map>
#include <string>

#include "thalweg/model/schema.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::source {

// Throws base::UsageError, which names the first option that makes no sense.
void validate(DigitizerOptions const& options);

model::Table table_of_channel(DigitizerOptions const& options, std::uint32_t channel);
std::uint64_t row_bytes(DigitizerOptions const& options);

// Returns the records per second of one channel, in time of the card.
double records_per_s(DigitizerOptions const& options);

std::map<std::string, std::string> describe(DigitizerOptions const& options);

} // namespace thalweg::source
