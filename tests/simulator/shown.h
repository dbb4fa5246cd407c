// What other programs see of a run that is open, or was left open: rows up to its last interim metadata.
#pragma once

#include <optional>
#include <string>

#include "tests/simulator/promises.h"
#include "tests/simulator/rows.h"
#include "tests/simulator/world.h"

namespace thalweg::simulator {

// Reads a copy of the file without its journal, every value compared. Returns nothing if it does not open, is complete,
// or shows no row.
std::optional<Found> shown_to_others(World& world, std::string const& path, Blame const& blame);

// Blames the recovery if a row that was shown before is not there any more.
void check_nothing_goes(Found const& shown, Found const& recovered, Blame const& blame);

} // namespace thalweg::simulator
