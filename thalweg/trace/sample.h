// A number with a name and labels, as monitoring wants it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::trace {

struct Sample {
    // The samples of a histogram end in _bucket, _count and _sum; the name before that is the family's.
    enum class Kind : std::uint8_t { counter, gauge, histogram };

    std::string name; // "thalweg_readout_packets_total": Prometheus' conventions
    std::string help;
    Kind kind = Kind::counter;
    std::vector<std::pair<std::string, std::string>> labels = {};
    double value = 0;
};

// trace::snapshot() as counters: "storage.sync.wall_ns" is "thalweg_storage_sync_wall_seconds_total".
std::vector<Sample> samples();

} // namespace thalweg::trace
