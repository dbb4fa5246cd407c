// The settings of a digitizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::source::caen {

enum class Switch : std::uint8_t { automatic, on, off };

struct Options {
    std::string library = "libCAEN_FELib.so";
    std::string address;                                         // dig2://host, dig1://caen.internal/...
    std::string endpoint;                                        // scope, dpppha, ..., raw; empty: by the firmware
    std::uint64_t samples = 0;                                   // of a waveform; 0: what the board has
    std::optional<std::vector<std::uint32_t>> channels;          // without it: those that the board has enabled
    std::vector<std::pair<std::string, std::string>> parameters; // path and value, in the order in which they are set
    bool waveforms = true;                                       // of DPP endpoints
    bool reset = true;
    Switch software_start = Switch::automatic; // automatic: dig2
    Switch trigger_ids = Switch::automatic;    // automatic: dig2 without DPP
    std::uint64_t batch = 64;                  // events that are read before rows are handed out
    double tick_ns = 8;                        // of time tags
    std::uint64_t time_bits = 0;               // of time tags; 0: 48 with dig2, 31 with dig1
    double fine_unit_ps = 7.8125;              // of FINE_TIMESTAMP; 0: it is not read
    bool clock_restarts = true;
};

} // namespace thalweg::source::caen
