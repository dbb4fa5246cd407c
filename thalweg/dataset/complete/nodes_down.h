// Tells what this process must know about the other nodes of a run before it completes that run alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/dataset/run/run_place.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// `journals` are those at `places`, open.

// Returns the names of nodes that may still write: each was on another machine, or this machine had another name then,
// and it has not finished, or may be completing the file. Returns "" if there is none.
std::string may_be_written_elsewhere(std::vector<RunPlace> const& places, Journals const& journals);

// Throws base::UsageError if there is one.
void check_nodes_are_down(std::vector<RunPlace> const& places, Journals const& journals, char const* verb);

// Returns true if none of them has recorded anything.
bool is_stub(std::vector<RunPlace> const& places, Journals const& journals);
bool is_stub(std::vector<RunPlace> const& places);

// Gives the blocks that nodes have kept for the metadata to the file, from `end_offset` on. Throws base::SystemError if
// the disk has less room by now.
void use_rooms(std::vector<RunPlace> const& places, storage::Storage& file, std::uint64_t end_offset);

} // namespace thalweg::dataset
