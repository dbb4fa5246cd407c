// Copies the files of a run and recovers the copy. That must harm nothing, and what the copy lacks must be reported.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

// Returns where copies of the file at `path` lie.
std::string copy_of(std::string const& path);

// Gives names beside the original to the data file as it was on one disk, and its journal as it was on another. Returns
// false if they do not exist.
bool add_copy(DiskState& disk, std::string const& path, DiskState const& data, DiskState const& journal);

// Judges a copy after everything has stopped, which left `state` of the snapshot number `index`; adds what is wrong to
// `faults`. Afterwards `state` is what the recovery of the copy has left. Returns false if there was nothing to copy.
bool judge_a_copy(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
                  Snapshot& state, Crash crash, Random& random, std::vector<std::string>& faults);

// Copies the files of an open run at two instants, and recovers the copy meanwhile, as any process on the machine of
// the run could. Returns the number of recovered copies: 1, or 0 if there was nothing to copy.
std::uint64_t recover_a_copy_of_open_run(World& world, std::string const& path, Promises const& promises,
                                         Random& random);

} // namespace thalweg::simulator
