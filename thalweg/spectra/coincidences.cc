#include "thalweg/spectra/coincidences.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::spectra {
namespace {

constexpr std::uint32_t kMostDetectorsOfPairs = 256;
constexpr std::int64_t kLongestPs = std::numeric_limits<std::uint32_t>::max();

void require_numbers(bool condition, std::string const& problem, std::string const& why) {
    if (!condition) base::fail_usage({"coincidences cannot be counted with " + problem, why});
}

bool is_within(float energy, double begin, double end) {
    auto const value = static_cast<double>(energy);
    return static_cast<int>(value >= begin) & static_cast<int>(value < end);
}

constexpr auto kEarlier = [](auto const& a, auto const& b) { return a.time_ps < b.time_ps; };

// Which of two hits is earlier cannot be foreseen, so nothing here branches on it.
template <typename Hit> void merge_two(std::span<Hit const> a, std::span<Hit const> b, Hit* out) {
    auto const *first = a.data(), *const first_end = first + a.size();
    auto const *second = b.data(), *const second_end = second + b.size();
    while (first != first_end && second != second_end) {
        bool const takes_second = second->time_ps < first->time_ps;
        *out++ = *(takes_second ? second : first);
        first += !takes_second;
        second += takes_second;
    }
    std::copy(second, second_end, std::copy(first, first_end, out));
}

} // namespace

Coincidences::Coincidences(CoincidenceOptions const& options)
    : options_(options), end_ps_(options.begin_ps + std::int64_t{options.bin_ps} * options.bins),
      bins_per_ps_(1.0 / options.bin_ps), new_starts_(options.detectors), new_stops_(options.detectors),
      forgotten_until_ps_(std::numeric_limits<std::int64_t>::min()) {
    require_numbers(options.detectors >= 1 && options.detectors <= kMostDetectorsOfPairs,
                    fmt::format("{} detectors", options.detectors),
                    fmt::format("1 to {} are possible", kMostDetectorsOfPairs));
    require_numbers(options.bin_ps > 0 && options.bins > 0 && end_ps_ - options.begin_ps <= kLongestPs,
                    fmt::format("{} bins of {} ps", options.bins, options.bin_ps),
                    "there must be one at least, and all together may be as long as 4.29 ms");
    histogram_.resize(std::size_t{options.detectors} * options.detectors * options.bins);
}

void Coincidences::add(std::uint32_t detector, EnergyWindows const& windows, std::span<std::int64_t const> times_ps,
                       std::span<float const> energies, std::int64_t delay_ps) {
    require_numbers(detector < options_.detectors, fmt::format("hits of detector {}", detector),
                    fmt::format("there are {}", options_.detectors));
    require_numbers(times_ps.size() == energies.size(),
                    fmt::format("{} times and {} energies", times_ps.size(), energies.size()), "each hit has both");
    auto &starts = new_starts_[detector], &stops = new_stops_[detector];
    auto const old_starts = starts.size(), old_stops = stops.size();
    // Which hits are starts cannot be foreseen, either: each is written, and the next one over it if it is none.
    starts.resize(old_starts + times_ps.size()), stops.resize(old_stops + times_ps.size());
    auto *start = starts.data() + old_starts, *stop = stops.data() + old_stops;
    for (std::size_t i = 0; i < times_ps.size(); ++i) {
        TimedHit const hit{times_ps[i] - delay_ps, detector};
        *start = hit, *stop = hit;
        start += is_within(energies[i], windows.start_begin, windows.start_end);
        stop += is_within(energies[i], windows.stop_begin, windows.stop_end);
    }
    starts.resize(static_cast<std::size_t>(start - starts.data()));
    stops.resize(static_cast<std::size_t>(stop - stops.data()));
    counts_.hits += times_ps.size();
    counts_.starts += starts.size() - old_starts;
    counts_.stops += stops.size() - old_stops;
}

void Coincidences::pair() {
    sort(added_starts_, new_starts_);
    sort(added_stops_, new_stops_);
    count_late(added_starts_, added_stops_);
    count(added_starts_, added_stops_);
    count(added_starts_, kept_stops_);
    count(kept_starts_, added_stops_);
    keep(kept_starts_, added_starts_);
    keep(kept_stops_, added_stops_);
}

// Merges the hits of all detectors, two and two.
void Coincidences::sort(Hits& hits, std::vector<Hits>& by_detector) {
    std::vector<Hits> parts;
    for (auto& part : by_detector) {
        if (part.empty()) continue;
        if (!std::is_sorted(part.begin(), part.end(), kEarlier)) std::sort(part.begin(), part.end(), kEarlier);
        parts.push_back(std::move(part));
        part = {};
    }
    while (parts.size() > 1) {
        std::vector<Hits> merged;
        for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
            merged.emplace_back(parts[i].size() + parts[i + 1].size());
            merge_two<TimedHit>(parts[i], parts[i + 1], merged.back().data());
        }
        if (parts.size() % 2 == 1) merged.push_back(std::move(parts.back()));
        parts = std::move(merged);
    }
    hits = parts.empty() ? Hits{} : std::move(parts.front());
}

void Coincidences::count(std::span<TimedHit const> starts, std::span<TimedHit const> stops) {
    if (starts.empty() || stops.empty()) return;
    // What is certainly too early is skipped at once.
    auto const from = stops.front().time_ps - end_ps_;
    starts = starts.subspan(static_cast<std::size_t>(
        std::lower_bound(starts.begin(), starts.end(), TimedHit{from, 0}, kEarlier) - starts.begin()));
    if (starts.empty()) return;
    TimedHit const earliest{starts.front().time_ps + options_.begin_ps, 0};
    auto const skipped = std::lower_bound(stops.begin(), stops.end(), earliest, kEarlier) - stops.begin();
    auto const* first = stops.data() + skipped;
    auto const* const end = stops.data() + stops.size();
    std::uint64_t found = 0;
    for (auto const& start : starts) {
        auto const begin_ps = start.time_ps + options_.begin_ps, end_ps = start.time_ps + end_ps_;
        while (first != end && first->time_ps < begin_ps) ++first;
        if (first == end) break;
        auto* const of_start = histogram_.data() + std::size_t{start.detector} * options_.detectors * options_.bins;
        for (auto const* stop = first; stop != end && stop->time_ps < end_ps; ++stop) {
            if (stop->detector == start.detector && stop->time_ps == start.time_ps) continue; // one hit
            auto const since_ps = static_cast<std::uint32_t>(stop->time_ps - begin_ps);
            // The quotient of doubles may be one too large or too small next to a whole number.
            auto bin = static_cast<std::uint32_t>(static_cast<double>(since_ps) * bins_per_ps_);
            bin -= std::uint64_t{bin} * options_.bin_ps > since_ps;
            bin += (std::uint64_t{bin} + 1) * options_.bin_ps <= since_ps;
            THALWEG_ASSERT(bin < options_.bins, "a coincidence is in a bin");
            ++of_start[std::size_t{stop->detector} * options_.bins + bin];
            ++found;
        }
    }
    counts_.coincidences += found;
}

// A start looks for stops from its time + begin on, and a stop for starts from its time - end on.
void Coincidences::count_late(Hits const& starts, Hits const& stops) {
    if (forgotten_until_ps_ == std::numeric_limits<std::int64_t>::min()) return;
    auto const before = [](Hits const& hits, std::int64_t time_ps) {
        auto const end = std::lower_bound(hits.begin(), hits.end(), TimedHit{time_ps, 0}, kEarlier);
        return static_cast<std::uint64_t>(end - hits.begin());
    };
    counts_.late += before(starts, forgotten_until_ps_ - options_.begin_ps);
    counts_.late += before(stops, forgotten_until_ps_ + end_ps_);
}

void Coincidences::keep(Hits& kept, Hits& added) {
    if (added.empty()) return;
    auto const old = kept.size();
    bool const is_later = kept.empty() || kept.back().time_ps <= added.front().time_ps;
    kept.insert(kept.end(), added.begin(), added.end());
    if (!is_later) {
        auto const middle = kept.begin() + static_cast<std::ptrdiff_t>(old);
        auto const begin = std::upper_bound(kept.begin(), middle, added.front(), kEarlier);
        std::inplace_merge(begin, middle, kept.end(), kEarlier);
    }
    added.clear();
    // Memory is given up in large steps, so that each hit is moved once or twice.
    if (kept.size() <= 2 * options_.kept_hits) return;
    auto const surplus = kept.end() - static_cast<std::ptrdiff_t>(options_.kept_hits);
    forgotten_until_ps_ = std::max(forgotten_until_ps_, std::prev(surplus)->time_ps);
    kept.erase(kept.begin(), surplus);
}

} // namespace thalweg::spectra
