// Coincidences between detectors: the times from each start to each stop, of all pairs, in a histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::spectra {

// Hits are starts or stops by their energy. The windows may overlap: a hit in both is both.
struct EnergyWindows {
    double start_begin = 0, start_end = 0; // [begin, end)
    double stop_begin = 0, stop_end = 0;
};

struct CoincidenceOptions {
    std::uint32_t detectors = 0;
    std::int64_t begin_ps = 0; // of the first bin: stop - start, negative if the stop may come first
    std::uint32_t bin_ps = 0;
    std::uint32_t bins = 0;
    std::size_t kept_hits = 4'000'000; // starts, and stops, that wait in memory for hits that come later
};

struct CoincidenceCounts {
    std::uint64_t hits = 0;
    std::uint64_t starts = 0;
    std::uint64_t stops = 0;
    std::uint64_t coincidences = 0;
    // Starts and stops that came so late that some of their partners had left the memory. They are counted with those
    // that are still there.
    std::uint64_t late = 0;
};

// Each start is paired with each stop whose time since it lies in the histogram, also in the same detector, but no hit
// with itself. Hits may come in any order: each pair counts once, when the later one of its hits comes, as long as the
// other one is in memory. So no detector waits for another one.
class Coincidences {
  public:
    // Throws base::UsageError if a number makes no sense.
    explicit Coincidences(CoincidenceOptions const& options);

    // Adds hits of one detector. They are sorted here if they do not ascend in time. `delay_ps` is subtracted from
    // their times, which may be negative. Nothing may leave 64 bits by delays or by the length of the histogram. Throws
    // base::UsageError if there is no such detector, or there are not as many times as energies.
    void add(std::uint32_t detector, EnergyWindows const& windows, std::span<std::int64_t const> times_ps,
             std::span<float const> energies, std::int64_t delay_ps);
    // Pairs what was added.
    void pair();

    // By start, stop and bin, the bin fastest.
    std::span<std::uint64_t const> histogram() const { return histogram_; }
    CoincidenceCounts const& counts() const { return counts_; }

  private:
    struct TimedHit {
        std::int64_t time_ps;
        std::uint32_t detector;
    };
    using Hits = std::vector<TimedHit>;

    static void sort(Hits& hits, std::vector<Hits>& by_detector);
    void count(std::span<TimedHit const> starts, std::span<TimedHit const> stops);
    void count_late(Hits const& starts, Hits const& stops);
    void keep(Hits& kept, Hits& added);

    CoincidenceOptions options_;
    std::int64_t end_ps_;
    double bins_per_ps_;
    std::vector<Hits> new_starts_, new_stops_; // by detector, each in the order of time
    Hits added_starts_, added_stops_, kept_starts_, kept_stops_;
    std::int64_t forgotten_until_ps_; // all hits that have left the memory were at this time or before it
    std::vector<std::uint64_t> histogram_;
    CoincidenceCounts counts_;
};

} // namespace thalweg::spectra
