// Whether the program that writes a file has closed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// Returns where the superblock lies: at 0, or behind a user block. Returns nothing if there is none.
std::optional<std::uint64_t> superblock_offset(storage::Storage const& file);

// swmr: open for writing in a way that lets other programs read it meanwhile.
enum class OpenMark : std::uint8_t { closed, swmr, writing };

// Returns what the superblock says, which it does from version 3 on. A file whose writer was killed has the mark, too.
OpenMark writer_state(storage::Storage const& file);

// Throws base::DataError if the content of the file may be of different moments.
void check_not_written(storage::Storage const& file, OpenMark writer);

// Returns a note for the reader of a file with that mark; empty for others.
std::string note_of(OpenMark writer);

} // namespace thalweg::format::hdf5
