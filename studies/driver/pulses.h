// Pulses of the emulated card, generated before any clock starts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::study {

inline constexpr std::uint64_t kSamples = 10'496;
inline constexpr std::uint64_t kWaveformBytes = kSamples * sizeof(std::uint16_t);
inline constexpr std::uint64_t kRowsPerPage = 48; // rows of a waveform column, at the default page size

} // namespace thalweg::study
