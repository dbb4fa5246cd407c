// The checksum that HDF5 puts behind its metadata: the hash lookup3 of Bob Jenkins (HDF5 specification, VII.A).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::format::hdf5::ours {

std::uint32_t lookup3(std::span<std::byte const> bytes);

} // namespace thalweg::format::hdf5::ours
