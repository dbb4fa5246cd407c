// The list of the checkpoints that saves to one path have made. It lies beside them: docs/formats/checkpoint.md.
//
// Invariants:
//
//  1. Each file beside `path` that a save has made has a number that the list has, and the signs of one of `saved`,
//     also if the save is killed.
//  2. What is first in `saved` is there, at `path` or at a number, or `next` is at `path`: a checkpoint that is being
//     published. Otherwise the checkpoint that was saved last is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/checkpoint/head.h"

namespace thalweg::checkpoint {

struct SavedList {
    std::vector<std::uint64_t> numbers; // N of the files `path`.N, ascending
    std::vector<Signs> saved;           // the newest first
    std::optional<Signs> next;          // is being published
};

std::string older(std::string const& path, std::uint64_t number); // `path`.N

// Returns none if there is no list: nothing was saved, or it was left behind when files were moved. Throws
// base::DataError if it is damaged.
std::optional<SavedList> read_list(std::string const& path);

// Replaces the list by another one, durably once the folder is synced. `beside` is a name for it until then.
void write_list(std::string const& path, SavedList const& list, std::string const& beside);

// Returns what the list has about a file, however damaged that is; none if no save to the path has made it.
std::optional<Signs> find_saved(SavedList const& list, storage::Storage const& file);

} // namespace thalweg::checkpoint
