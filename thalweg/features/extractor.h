// Energy, time and flags of a pulse from its samples, in one pass over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/features/sum_kernel.h"

namespace thalweg::features {

struct FeatureOptions {
    unsigned bits = 0;         // of the ADC; 1 to 16
    bool is_negative = false;  // pulses go downwards
    double baseline_ns = 0;    // from the beginning of the record on; 0: a twentieth of the record
    double gate_begin_ns = -5; // of the integral, from the time of the pulse on
    double gate_end_ns = 100;
    double fraction = 0.1;    // of the height: the level at which the edge gives the time
    double smooth_ns = 1;     // over so much the edge is averaged
    double threshold_adc = 0; // above the baseline, averaged over a block; 0: a hundredth of the ADC's range

    // The threshold that holds.
    double least_adc() const;
};

// Throws base::UsageError if a number makes no sense.
void check(FeatureOptions const& options);

// Flags of a pulse.
// A sample of the pulse or of the gate is at the end of the ADC's range.
inline constexpr std::uint16_t kSaturated = 1;
// Another pulse begins within the gate: the energy is that of both.
inline constexpr std::uint16_t kPiledUp = 2;
// Another pulse begins behind the gate.
inline constexpr std::uint16_t kFollowed = 4;
// Parts of the baseline differ by more than the threshold: there is an earlier pulse, for example.
inline constexpr std::uint16_t kUnsteadyBaseline = 8;
// Nothing rises above the threshold.
inline constexpr std::uint16_t kNoPulse = 16;
// The record has not the whole edge and gate.
inline constexpr std::uint16_t kCut = 32;

struct PulseFeatures {
    double energy = 0;  // the integral over the gate, less the baseline, in ADC * ns; NaN if there is no pulse
    double time_ns = 0; // of the pulse, from the first sample on; 0 if there is no pulse
    std::uint16_t flags = 0;
};

// One thread uses an extractor. Its sums of blocks of samples are made in one pass over a record; what follows looks at
// these sums, and at samples only around the edge.
class FeatureExtractor {
  public:
    // Throws base::UsageError if an option makes no sense.
    explicit FeatureExtractor(FeatureOptions const& options, bool is_signed = false,
                              SumKernel const& kernel = sum_kernels().back());

    // Throws base::UsageError if `dt_ns`, the time from sample to sample, is not positive.
    PulseFeatures of(std::span<std::uint16_t const> samples, double dt_ns);

  private:
    struct Edge {
        double position = 0; // in samples
        bool is_whole = true;
    };

    void set_up(std::size_t samples, double dt_ns);
    double baseline(std::uint16_t& flags);
    std::size_t top_after(std::size_t rise) const;
    Edge edge_of(std::size_t top) const;
    double height_at(std::size_t top) const;
    std::int64_t sum_between(std::size_t begin, std::size_t end) const;
    double integrate(double position, std::uint16_t& flags);
    bool is_saturated(std::int32_t largest, std::size_t rise) const;
    std::uint16_t later_pulses(std::size_t top) const;
    double rise_limit(std::int32_t from) const;
    double fall_limit(std::int32_t from) const;
    double above_baseline(std::int32_t sum) const;
    std::int32_t level(std::size_t sample) const { return level_of(samples_[sample], mask_); }
    std::size_t first_sample(std::size_t block) const { return (block - kRiseBlocks) << shift_; }

    FeatureOptions options_;
    SumKernel kernel_;
    std::uint16_t mask_;
    std::int32_t full_scale_; // as a level
    double threshold_;        // in levels

    // What follows from the length and sampling period of the records.
    double dt_ns_ = 0;
    std::size_t box_ = 1; // samples over which the edge is averaged
    unsigned shift_ = 0;  // a block has 2^shift samples
    std::size_t baseline_samples_ = 0;
    std::int32_t limit_ = 0; // of the sum of a block

    // The record that is looked at.
    std::span<std::uint16_t const> samples_;
    std::vector<std::int32_t> sums_; // of blocks, behind kRiseBlocks that stand for the baseline before the record
    std::vector<double> pieces_;     // of the baseline
    double base_ = 0;
    std::size_t gate_end_ = 0;
};

} // namespace thalweg::features
