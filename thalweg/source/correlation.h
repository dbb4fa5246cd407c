// W(theta, t), the probability of the second gamma of a cascade in the direction of a detector, relative to that of an
// isotropic one.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/source/physics.h"
#include "thalweg/source/random.h"

namespace thalweg::source {

// G_22(t) and G_44(t) of a site, from a table of its sums of cosines.
class Perturbation {
  public:
    struct Factors {
        double g2 = 1;
        double g4 = 1;
    };

    // The table covers `length_ns`; later values are summed up when they are asked for.
    Perturbation(FieldSite const& site, double length_ns);
    Factors at(double time_ns) const;

  private:
    Factors sum(double time_ns) const;

    FieldSite site_;
    double step_ns_ = 0;
    std::vector<Factors> table_;
};

class Correlation {
  public:
    Correlation(Physics const& physics, double half_life_ns);

    // W is never larger.
    double bound() const { return bound_; }
    // Returns the mean of W over all delays and over all pairs of detectors.
    double mean() const { return mean_; }

    // Draws whether the detector `second` sees the second gamma of a cascade, `delay_ns` after `first` has seen the
    // first one: with the probability W / bound(). W is never normalised over the detectors: the sum over them depends
    // on the time.
    bool accepts(Random& random, std::uint32_t first, std::uint32_t second, double delay_ns) const;

    // Returns W for gammas in these directions.
    double value(std::size_t site, Direction const& first, Direction const& second, double delay_ns) const;

  private:
    struct Cone {
        Direction axis, across, upright;
    };

    Direction draw(Random& random, Cone const& cone) const;
    std::size_t draw_site(Random& random) const;
    double mean_of_pairs(double half_life_ns) const;

    Physics physics_;
    double bound_ = 1;
    double mean_ = 1;
    double cosine_ = 1; // of the half angle
    std::vector<Cone> cones_;
    std::vector<Perturbation> perturbations_;
};

// Throws base::UsageError, which names the first value that makes no sense for so many channels.
void validate(Physics const& physics, std::uint32_t channels);

} // namespace thalweg::source
