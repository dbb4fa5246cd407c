#include "thalweg/source/decays.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::source {
namespace {

constexpr double kFwhm = 2.3548200450309493; // in sigmas of a normal distribution
constexpr double kElectronKev = 510.999;
constexpr double kHourPs = 3600e12;

// A detector may be early by at most so much: a hit is final once the decays are so far beyond it.
constexpr double kEarliestSigmas = 6;

// A crystal of about an inch absorbs a soft gamma completely and a hard one often only partly, up to the Compton edge:
// the rest leaves with the scattered gamma.
Gamma gamma_of(double energy_kev) {
    return {.energy_kev = energy_kev,
            .photopeak_fraction = 1 / (1 + std::pow(energy_kev / 350, 1.5)),
            .compton_edge_kev = energy_kev * 2 * energy_kev / (kElectronKev + 2 * energy_kev)};
}

double deposit_kev(Random& random, Gamma const& gamma) {
    if (random.uniform() <= gamma.photopeak_fraction || gamma.compton_edge_kev <= kThresholdKev)
        return gamma.energy_kev;
    return kThresholdKev + (gamma.compton_edge_kev - kThresholdKev) * random.uniform();
}

double time_sigma_ps(DigitizerOptions const& options, DetectorOptions const& detector) {
    return detector.time_resolution_ps.value_or(options.time_resolution_ps / std::numbers::sqrt2) / kFwhm;
}

DetectorOptions detector_of(DigitizerOptions const& options, std::uint32_t channel) {
    auto const& detectors = options.physics.detectors;
    return detectors.empty() ? DetectorOptions{} : detectors[channel];
}

// All channels agree on it, since it is the time of the first decay.
std::uint64_t earliest_ps(DigitizerOptions const& options) {
    double earliest = kEarliestSigmas * time_sigma_ps(options, {});
    for (auto const& detector : options.physics.detectors)
        earliest = std::max(earliest, kEarliestSigmas * time_sigma_ps(options, detector) - detector.delay_ps);
    return static_cast<std::uint64_t>(earliest) + 1;
}

double background_kev(Random& random) { return kThresholdKev + 150 * random.exponential(); }

} // namespace

Cascade cascade_of(Isotope isotope) {
    switch (isotope) {
    case Isotope::hf181:
        return {.first = gamma_of(133), .second = gamma_of(482), .half_life_ns = 10.8};
    case Isotope::in111:
        return {.first = gamma_of(171), .second = gamma_of(245), .half_life_ns = 84.5};
    case Isotope::none:
        break;
    }
    return {};
}

Hits::Hits(DigitizerOptions const& options, double hits_per_s, std::uint32_t channel)
    : options_(options), cascade_(cascade_of(options.isotope)), channel_(channel),
      detector_(detector_of(options, channel)), correlation_(options.physics, cascade_.half_life_ns),
      pair_fraction_(options.isotope == Isotope::none || options.channels < 2
                         ? 0
                         : options.coincidence_fraction * correlation_.bound()),
      mean_interval_ps_(1e12 * (1 + pair_fraction_ * correlation_.mean() / correlation_.bound()) /
                        (hits_per_s * options.channels)),
      time_sigma_ps_(time_sigma_ps(options, detector_)),
      energy_sigma_sqrt_kev_(detector_.energy_resolution.value_or(options.energy_resolution) / kFwhm *
                             std::sqrt(662.0)),
      earliest_ps_(earliest_ps(options)), decay_time_ps_(earliest_ps_) {
    fill();
}

void Hits::pop() {
    auto const popped_ps = pending_.top().time_ps;
    pending_.pop();
    fill();
    THALWEG_ASSERT(peek().time_ps >= popped_ps, "the hits of a channel ascend in time");
}

void Hits::fill() {
    while (pending_.empty() || pending_.top().time_ps + earliest_ps_ > decay_time_ps_) next_decay();
}

// The draws that every process makes for every decay come first and are few; the others are only for detectors that see
// it.
void Hits::next_decay() {
    Random random(Random(options_.seed ^ (++decay_ * 0xd1342543de82ef95)).bits());
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and far from where doubles have no half
    decay_time_ps_ += static_cast<std::uint64_t>(random.exponential() * mean_interval_ps_ + 0.5);
    bool const pair = random.uniform() <= pair_fraction_;
    auto const first = random.index(options_.channels);
    if (!pair) {
        if (first != channel_) return;
        bool const background = cascade_.first.energy_kev == 0 || random.uniform() <= options_.background_fraction;
        if (background) return see(random, 0, background_kev(random));
        return see(random, 0, deposit_kev(random, random.uniform() < 0.5 ? cascade_.first : cascade_.second));
    }
    auto const second = (first + 1 + random.index(options_.channels - 1)) % options_.channels;
    if (first == channel_) return see(random, 0, deposit_kev(random, cascade_.first));
    if (second != channel_) return;
    // The second detector has a random sequence of its own, because detectors measure independently.
    Random other(~random.bits());
    auto const delay_ns = other.exponential() * cascade_.half_life_ns / std::numbers::ln2;
    if (!correlation_.accepts(other, first, second, delay_ns)) return;
    see(other, delay_ns * 1000, deposit_kev(other, cascade_.second));
}

void Hits::see(Random& random, double delay_ps, double energy_kev) {
    if (detector_.efficiency < 1 && random.uniform() > detector_.efficiency) return;
    auto const [early_or_late, more_or_less] = random.normals();
    auto const jitter_ps = std::clamp(early_or_late, -kEarliestSigmas, kEarliestSigmas) * time_sigma_ps_;
    auto const after_decay_ps = static_cast<std::int64_t>(std::floor(delay_ps + detector_.delay_ps + jitter_ps + 0.5));
    auto const seen_kev = energy_kev + energy_sigma_sqrt_kev_ * std::sqrt(energy_kev) * more_or_less;
    auto const hours = static_cast<double>(decay_time_ps_) / kHourPs;
    auto const gain = detector_.gain * std::max(0.0, 1 + detector_.drift_per_hour * hours);
    pending_.push({.time_ps = decay_time_ps_ + static_cast<std::uint64_t>(after_decay_ps), // wraps back if it is early
                   .energy_kev = gain * std::max(seen_kev, kThresholdKev / 2)});
}

} // namespace thalweg::source
