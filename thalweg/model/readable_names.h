#pragma once

#include "thalweg/model/run.h"

namespace thalweg::model {

// Names and texts of a file that are no UTF-8 would make its values unreachable: they are shown with \xHH for each byte
// that is none, and every name of which that is true is noted in the map.
void make_names_readable(RunMap& map);

// Throws base::UsageError naming what is no UTF-8 in the names, units and descriptions, or in the metadata.
void check_names_are_utf8(RunHead const& head);

} // namespace thalweg::model
