// Copies of blocks from which a save goes on while the simulation changes the blocks.
#pragma once

#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/checkpoint/page_writer.h"

namespace thalweg::checkpoint {

// Copies the blocks of all parts into `memory`, which is made larger if it has to be, and lets the parts refer to
// that alone. Pages that are stored as they are get copies that are written without another one, and their checksums
// if their offsets are known.
void copy_parts(std::vector<ArrayPlan> const& plans, std::vector<OwnPart>& parts, base::AlignedBuffer& memory);

} // namespace thalweg::checkpoint
