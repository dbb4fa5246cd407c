// Somebody copies the files of a run and recovers the copy: that harms nothing, and what the copy lacks is said.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

// Where copies of the file at `path` are.
std::string copy_of(std::string const& path);

// The data file as it was on one disk and its journal as it was on another get names beside the original.
// False: they are not there.
bool add_copy(DiskState& disk, std::string const& path, DiskState const& data, DiskState const& journal);

// After everything has stopped, which left `state` of the snapshot number `index`; what is wrong is added to `faults`.
// `state` is then what the recovery of the copy has left. False: there was nothing to copy.
bool judge_a_copy(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
                  Snapshot& state, Crash crash, Random& random, std::vector<std::string>& faults);

// Somebody copies the files of a run that goes on, at two instants, and recovers the copy meanwhile: as any process of
// the machine on which the run is. How many copies were recovered: 1, or 0 where there was nothing to copy.
std::uint64_t recover_a_copy_of_open_run(World& world, std::string const& path, Promises const& promises,
                                         Random& random);

} // namespace thalweg::simulator
