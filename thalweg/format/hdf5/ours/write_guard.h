// Keeps other programs from changing the file of a run that is open, or was killed.
//
// A program that opens it for writing would cut it to the end that the interim metadata name, and with that all pages
// behind them. Locks end with the process that holds them, and the mark of a writer in the superblock refuses readers,
// too. So the extension of the superblock has a message of a type that no libhdf5 knows, with the flag that HDF5 has
// for that: a program that does not know the message may read the file, and must not open it for writing (HDF5
// specification, IV.A.1.b, bit 3 of the flags).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::format::hdf5::ours {

// The extension is there because the file has a property of this value, which is not libhdf5's default and which
// nothing in our files depends on: half the rank of B-trees of chunks, which have none.
inline constexpr unsigned kRankOfNoTrees = 33;

// Turns the message that has this property into that guard. `metadata`: from `begin` on. Throws base::DataError if the
// extension is not as libhdf5 writes it.
void refuse_writers(std::span<std::byte const> superblock, std::span<std::byte> metadata, std::uint64_t begin);

} // namespace thalweg::format::hdf5::ours
