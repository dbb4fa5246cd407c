// What all measurements record: pulses of the emulated card, generated before any clock starts.
#pragma once

#include <memory>
#include <vector>

#include "thalweg/dataset/producer.h"
#include "thalweg/model/schema.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::study {

inline constexpr std::uint64_t kSamples = 10'496;
inline constexpr std::uint64_t kWaveformBytes = kSamples * sizeof(std::uint16_t);
inline constexpr std::uint64_t kRowsPerPage = 48; // of a waveform column, at the default page size

// As many channels as producers, each with `rows` records and then no more.
source::DigitizerOptions pulse_options(std::uint32_t channels, std::uint64_t rows);

model::Schema schema_of(source::Source const& source);

// Records of one channel, to the end. Returns raw bytes.
std::uint64_t record(source::StreamReader& reader, dataset::Producer& producer);

// Waveforms one behind the other, in the order in which the card hands them out.
std::vector<std::uint16_t> some_waveforms(std::uint64_t rows);

} // namespace thalweg::study
