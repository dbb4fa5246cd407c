// CAEN CoMPASS list-mode files (.BIN) into row sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/source/replay.h"

namespace thalweg::source {

struct CompassOptions {
    // The 16-bit header (0xCAE0 to 0xCAEF) of a file that has none: CoMPASS splits long runs into files of which only
    // the first has one.
    std::optional<std::uint16_t> header;
    // Else from the configuration beside the file (compass.xml, settings.xml or FILE.xml); else unknown: dt is NaN.
    std::optional<double> sample_period_ns;
};

// Tables "ch0", "ch1", ..., or, where there are several boards, "board0/ch0", ...: timestamp (uint64, ps), energy,
// energy_calibrated, energy_short (each where the file has it), flags, and waveform {t0, dt, values}: of fixed size
// when all records of the channel have as many samples, else a list. A file without records gives no table. Throws
// base::SystemError where the file cannot be read and base::DataError where it is damaged or no CoMPASS file, with the
// offset.
std::vector<RowSet> read_compass(std::string const& path, CompassOptions const& options = {});

// The same of bytes in memory; `name` is for messages, `sample_period_ns` by board.
std::vector<RowSet> parse_compass(std::span<std::byte const> bytes, std::string const& name,
                                  CompassOptions const& options, std::vector<double> const& sample_period_ns = {});

} // namespace thalweg::source
