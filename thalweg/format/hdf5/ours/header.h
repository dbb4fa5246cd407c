// The first 4096 bytes of a file: nothing that HDF5 knows, until the superblock is written as the very last thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::ours {

// Zeros, and the mark "THALWEG RUN <id>" at offset 2048, which ties the file to its journal.
void write_header(storage::Storage& file, std::string const& run_id);

// Returns nothing for a file that Thalweg did not begin.
std::optional<std::string> run_id_of(storage::Storage const& file);

// At the place of that mark, a checkpoint has another one.
inline constexpr std::size_t kMarkOffset = 2048;
inline constexpr std::string_view kCheckpointMark = "THALWEG CHECKPOINT ";
bool is_checkpoint(storage::Storage const& file);

// A checksum of all metadata, at offset 1024: HDF5 has none of its heaps.
void write_seal(storage::Storage& file, std::uint64_t offset, std::span<std::byte const> metadata);
// Throws base::DataError where the metadata is not what was sealed.
void check_seal(storage::Storage const& file);

// The metadata is what was sealed: those of a complete file or, if there are none, those of an open run.
bool is_sealed(storage::Storage const& file);

bool has_superblock(storage::Storage const& file);

// Here libhdf5 looks next if there is no superblock at 0: while a run is open, it finds one here. What this one names
// shows the rows up to a flush, and says that the run is open.
inline constexpr std::uint64_t kInterimSector = 512;
bool has_interim_superblock(storage::Storage const& file);
// False if a part of the sector is older than the rest, as a disk that tears sectors would leave it.
bool has_whole_interim_sector(storage::Storage const& file);
// Writes that sector: the superblock, and a seal of the metadata that it names.
void write_interim_sector(storage::Storage& file, std::span<std::byte const> superblock, std::uint64_t offset,
                          std::span<std::byte const> metadata);
// Throws base::DataError if these metadata are not what was sealed.
void check_interim_seal(storage::Storage const& file);
// Returns the end that this superblock has; 0 if there is none, or if it is torn.
std::uint64_t end_of_interim(storage::Storage const& file);

// Returns the end of the file that the superblock has (version 3: HDF5 specification, II.A).
std::uint64_t end_of_file(storage::Storage const& file);
// Writes one sector at offset 0; an empty superblock clears it.
void write_superblock(storage::Storage& file, std::span<std::byte const> superblock);

} // namespace thalweg::format::hdf5::ours
