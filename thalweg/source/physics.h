// What the emulated detectors see of gamma cascades: an angular correlation that fields perturb, and detectors that
// differ.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::source {

using Direction = std::array<double, 3>; // a unit vector

struct DetectorOptions {
    Direction place{};
    double gain = 1;
    double drift_per_hour = 0; // of the gain, relative
    double efficiency = 1;
    double delay_ps = 0;
    std::optional<double> time_resolution_ps; // FWHM of this detector alone; without it DigitizerOptions says it
    std::optional<double> energy_resolution;  // FWHM / E at 662 keV
};

// One frequency of a perturbation: G_kk(t) is the sum of weight_k * cos(omega t) over all lines.
struct PerturbationLine {
    double omega_per_ns = 0;
    double weight2 = 0;
    double weight4 = 0;
};

// The field that a share of the nuclei is in. The damping of a line is exp(-delta omega t), or, if frequencies are
// spread as a Gauss curve, exp(-(delta omega t)^2 / 2).
struct FieldSite {
    double fraction = 1;
    std::vector<PerturbationLine> lines; // of a powder; none: no field
    double delta = 0;
    bool is_gauss = false;
    Direction axis{}; // of a magnetic field that all nuclei share; zero: there is none
    double larmor_per_ns = 0;
};

struct Physics {
    double a22 = 0;
    double a44 = 0;
    double half_angle_rad = 0; // of the cone of directions that a crystal covers, with equal efficiency
    std::vector<FieldSite> sites;
    std::vector<DetectorOptions> detectors; // one for each channel; none: no places, and all detectors are alike
    std::string description;                // the same as JSON: it becomes metadata of the run
};

} // namespace thalweg::source
