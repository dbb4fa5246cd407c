// Plans which events of the input are done together: a range is one work unit of every output, and its number is the
// key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::derive {

struct LoopRange {
    std::uint64_t number = 0; // in the order of the input
    std::size_t file = 0;     // of the input
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// A table of one file, as far as its ranges depend on it.
struct InputTable {
    std::uint64_t rows = 0;
    std::uint64_t raw_bytes = 0;     // of all its items, decoded
    std::vector<std::uint64_t> ends; // rows at which clusters or pages end, ascending; the last one is `rows`
};

// The rows at which the ranges of each file end.
using RangeEnds = std::vector<std::vector<std::uint64_t>>;

// Plans whole clusters, several if they are small; the smallest ranges, one a worker, are halved, so that all workers
// end at about the same time.
RangeEnds plan_ranges(std::vector<InputTable> const& files, unsigned workers);

std::vector<LoopRange> ranges_of(RangeEnds const& ends);

} // namespace thalweg::derive
