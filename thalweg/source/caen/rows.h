// Rows of the channels of a board, until they are handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/base/shared_number.h"

namespace thalweg::source::caen {

// Which columns the tables have, besides `timestamp`.
struct Columns {
    bool energy = false, energy_short = false, flags = false;
    char const* sample_type = nullptr; // without it there is no waveform
    bool has_lists = false;            // waveforms of any length, and not of the same one
};

struct Rows {
    std::vector<std::uint64_t> times_ps;
    std::vector<std::uint16_t> energies, energies_short;
    std::vector<std::uint32_t> flags;
    std::vector<float> t0_ns, dt_ns;
    std::vector<std::uint64_t> lengths; // of lists
    std::vector<std::byte> samples;

    std::size_t count() const { return times_ps.size(); }
    void clear() {
        times_ps.clear();
        energies.clear();
        energies_short.clear();
        flags.clear();
        t0_ns.clear();
        dt_ns.clear();
        lengths.clear();
        samples.clear();
    }
    // Returns the place of so many bytes of samples more.
    std::byte* grow(std::size_t size_bytes) {
        samples.resize(samples.size() + size_bytes);
        return samples.data() + samples.size() - size_bytes;
    }
};

struct Table {
    std::uint32_t channel = 0;
    std::size_t samples = 0; // of a waveform
    float t0_ns = 0;
    Rows rows = {};
};

// What a board counts; any thread reads it.
struct Counters {
    base::SharedNumber lost_triggers; // by their numbers
    base::SharedNumber bad_events;    // that are left out
    base::SharedNumber damaged_bytes; // of the endpoint `raw`
    base::SharedNumber dead_ns;       // of the board, by the ends of its runs
    base::SharedNumber real_ns;
};

} // namespace thalweg::source::caen
