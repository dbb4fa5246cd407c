// Whether the program that writes a file has closed it.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// swmr: open for writing in a way that lets others read it meanwhile.
enum class InUse : std::uint8_t { no, swmr, writing };

// As the superblock says, which it does from version 2 on. It says so of a file whose writer was killed, too.
InUse in_use(storage::Storage const& file);

// Throws base::DataError where what lies in the file may be of different moments.
void check_not_written(storage::Storage const& file, InUse use);

// For whoever opens a file with that mark; empty for others.
std::string note_of(InUse use);

} // namespace thalweg::format::hdf5
