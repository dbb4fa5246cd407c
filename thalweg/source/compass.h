// Reads CAEN CoMPASS list-mode files (.BIN) into row sets.
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
    // The 16-bit header (0xCAE0 to 0xCAEF) for a file that has none: CoMPASS splits long runs into files of which only
    // the first has one.
    std::optional<std::uint16_t> header;
    // The sample period. Without it, the configuration beside the file is used (compass.xml, settings.xml or FILE.xml);
    // without that dt is NaN.
    std::optional<double> sample_period_ns;
};

struct CompassRows {
    std::vector<RowSet> tables;
    // A sentence if a record asks for more bytes than are left: the file was cut there, as after a crash, or the length
    // of this record is damaged, and what follows it is left out. Else empty.
    std::string cut;
};

// Returns tables "ch0", "ch1", ..., or "board0/ch0", ... if there are several boards, with timestamp (uint64, ps),
// energy, energy_calibrated, energy_short (each if the file has it), flags, and waveform {t0, dt, values}. Waveforms
// have a fixed size if all records of the channel have as many samples; otherwise they are lists. A file without
// records gives no table. If a record asks for more bytes than are left, the rows before it are returned, and
// `cut` says so. Throws base::SystemError if the file cannot be read, and base::DataError, with the offset, if it is
// damaged in another way or not a CoMPASS file.
CompassRows read_compass(std::string const& path, CompassOptions const& options = {});

// Does the same with bytes in memory; `name` is for messages, `sample_period_ns` has one value per board.
CompassRows parse_compass(std::span<std::byte const> bytes, std::string const& name, CompassOptions const& options,
                          std::vector<double> const& sample_period_ns = {});

// Returns true if the file begins with a header of CoMPASS.
bool begins_like_compass(std::span<std::byte const> bytes);

} // namespace thalweg::source
