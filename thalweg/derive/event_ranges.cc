#include "thalweg/derive/event_ranges.h"

#include <algorithm>
#include <tuple>

#include "thalweg/base/units.h"

namespace thalweg::derive {
namespace {

constexpr std::uint64_t kMostBytes = 8 * base::kMiB; // of a range, decoded, if clusters are smaller than that
constexpr std::uint64_t kRangesPerWorker = 8;        // at least, if clusters are small enough

std::vector<std::uint64_t> ends_of(InputTable const& file, std::uint64_t most_bytes) {
    std::vector<std::uint64_t> ends;
    auto const row_bytes =
        static_cast<double>(file.raw_bytes) / static_cast<double>(std::max<std::uint64_t>(1, file.rows));
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < file.ends.size(); ++i) {
        bool const is_last = i + 1 == file.ends.size();
        if (!is_last && static_cast<double>(file.ends[i + 1] - start) * row_bytes <= static_cast<double>(most_bytes))
            continue;
        ends.push_back(file.ends[i]);
        start = file.ends[i];
    }
    return ends;
}

void halve_smallest(RangeEnds& files, unsigned workers) {
    std::vector<std::tuple<std::uint64_t, std::size_t, std::uint64_t>> sizes; // events, file, end
    for (auto const& range : ranges_of(files)) sizes.emplace_back(range.count, range.file, range.first + range.count);
    std::sort(sizes.begin(), sizes.end());
    if (sizes.size() > workers) sizes.resize(workers);
    for (auto const& [size, file, end] : sizes) {
        if (size > 1) files[file].push_back(end - size / 2);
    }
    for (auto& ends : files) std::sort(ends.begin(), ends.end());
}

} // namespace

RangeEnds plan_ranges(std::vector<InputTable> const& files, unsigned workers) {
    std::uint64_t raw_bytes = 0;
    for (auto const& file : files) raw_bytes += file.raw_bytes;
    auto const most_bytes = std::min<std::uint64_t>(kMostBytes, raw_bytes / (kRangesPerWorker * std::max(1u, workers)));
    RangeEnds ends;
    for (auto const& file : files) ends.push_back(ends_of(file, most_bytes));
    if (workers > 1) halve_smallest(ends, workers);
    return ends;
}

std::vector<LoopRange> ranges_of(RangeEnds const& ends) {
    std::vector<LoopRange> ranges;
    for (std::size_t file = 0; file < ends.size(); ++file) {
        std::uint64_t start = 0;
        for (auto const end : ends[file]) {
            ranges.push_back({ranges.size(), file, start, end - start});
            start = end;
        }
    }
    return ranges;
}

} // namespace thalweg::derive
