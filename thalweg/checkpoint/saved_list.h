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

// Tells a file from a copy of it, whatever their names are, until they are moved to another file system.
struct FileMark {
    std::uint64_t inode = 0;
    std::int64_t born_ns = 0; // 0 where the file system does not say: numbers of inodes are used again
    bool operator==(FileMark const&) const = default;
};
FileMark mark_of(std::string const& path);

struct Saved {
    Signs signs;
    FileMark file;
};

struct SavedList {
    std::vector<std::uint64_t> numbers; // N of the files `path`.N, ascending
    std::vector<Saved> saved;           // the newest first
    std::optional<Saved> next;          // is being published
};

std::string older(std::string const& path, std::uint64_t number); // `path`.N

// Returns none if there is no list: nothing was saved, or it was left behind when files were moved. Throws
// base::DataError if it is damaged, and UnknownVersion (version.h) if a newer Thalweg has written it.
std::optional<SavedList> read_list(std::string const& path);

// Replaces the list by another one, durably once the folder is synced. `beside` is a name for it until then.
void write_list(std::string const& path, SavedList const& list, std::string const& beside);

// Returns what the list has about a file or a copy of it, however damaged that is; none if no save to the path has made
// any such checkpoint.
std::optional<Saved> find_saved(SavedList const& list, storage::Storage const& file);

} // namespace thalweg::checkpoint
