// What must be known of the other nodes of a run before one completes it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/dataset/run/run_place.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Names of nodes that may still write: each was on another machine, or this one has another name than the one that it
// had, and its journal does not say that all it had is there. Empty: there is none.
std::string may_be_written_elsewhere(std::vector<RunPlace> const& places);

// Throws base::UsageError where there is one.
void check_nodes_are_down(std::vector<RunPlace> const& places, char const* verb);

// None of them has recorded anything.
bool is_stub(std::vector<RunPlace> const& places);

// The blocks that nodes have kept for the metadata are the file's from `end_offset` on. Throws base::SystemError where
// the disk has less by now.
void use_rooms(std::vector<RunPlace> const& places, storage::Storage& file, std::uint64_t end_offset);

} // namespace thalweg::dataset
