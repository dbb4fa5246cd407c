// The physics in front of the digitizer: decays, and what one detector sees of them.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "thalweg/source/correlation.h"
#include "thalweg/source/digitizer.h"
#include "thalweg/source/random.h"

namespace thalweg::source {

struct Gamma {
    double energy_kev = 0;
    double photopeak_fraction = 0;
    double compton_edge_kev = 0;
};

struct Cascade {
    Gamma first;
    Gamma second;
    double half_life_ns = 0; // half-life of the state between them
};

// Returns the cascade of an isotope. Isotope::none has no energies and no half-life.
Cascade cascade_of(Isotope isotope);

// The energy in keV below which a detector sees nothing.
inline constexpr double kThresholdKev = 25;

struct Hit {
    std::uint64_t time_ps = 0;
    double energy_kev = 0; // as the detector measures it, with its gain
};

// The hits of one channel, ascending in time. Decays are a Poisson process, and decay number i is a function of the
// seed and i alone: a reader of another channel, in any process, sees the other gammas of the same decays. The detector
// of the second gamma of a cascade is drawn among the others, and sees it with a probability that follows from their
// angular correlation.
class Hits {
  public:
    // `hits_per_s` is the rate of each channel if its efficiency is 1.
    Hits(DigitizerOptions const& options, double hits_per_s, std::uint32_t channel);

    Hit const& peek() const { return pending_.top(); }
    void pop();

  private:
    struct Later {
        bool operator()(Hit const& a, Hit const& b) const { return a.time_ps > b.time_ps; }
    };

    void next_decay();
    void see(Random& random, double delay_ps, double energy_kev);
    void fill();

    DigitizerOptions options_;
    Cascade cascade_;
    std::uint32_t channel_;
    DetectorOptions detector_;
    Correlation correlation_;
    double pair_fraction_; // share of the decays that might be seen by two detectors
    double mean_interval_ps_;
    double time_sigma_ps_;         // of one detector
    double energy_sigma_sqrt_kev_; // at 1 keV; it grows with the square root of the energy
    std::uint64_t earliest_ps_;    // how much earlier than its decay a hit of any channel can be
    std::uint64_t decay_ = 0;
    std::uint64_t decay_time_ps_;
    std::priority_queue<Hit, std::vector<Hit>, Later> pending_;
};

} // namespace thalweg::source
