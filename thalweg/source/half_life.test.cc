// Analyses a recorded run as a physicist does: energies from the pulses, coincidences from the timestamps of different
// channels, and from their time differences the half-life of the state between the two gammas.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numbers>
#include <numeric>

#include "thalweg/source/decays.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::source {
namespace {

struct Pulse {
    std::uint64_t time_ps = 0;
    double integral = 0;
    std::size_t channel = 0;
};

std::vector<Pulse> record(DigitizerOptions const& options) {
    auto const source = make_digitizer(options);
    std::vector<Pulse> pulses;
    for (std::size_t channel = 0; channel < source->streams().size(); ++channel) {
        auto const reader = source->open(channel);
        for (Batch batch; reader->next(batch, 0);) {
            Pulse pulse{.channel = channel};
            std::memcpy(&pulse.time_ps, batch.columns[0].data(), sizeof pulse.time_ps);
            auto const* samples = reinterpret_cast<std::uint16_t const*>(batch.columns[3].data());
            auto const sum = std::accumulate(samples, samples + options.record_samples, std::uint64_t{0});
            pulse.integral = static_cast<double>(sum) - options.baseline_adc * options.record_samples;
            pulses.push_back(pulse);
        }
    }
    std::sort(pulses.begin(), pulses.end(), [](auto const& a, auto const& b) { return a.time_ps < b.time_ps; });
    return pulses;
}

// The highest peak of the spectrum is the photopeak of the cascade's first gamma.
double integral_per_kev(std::vector<Pulse> const& pulses, double peak_kev) {
    auto const highest = std::max_element(pulses.begin(), pulses.end(), [](auto const& a, auto const& b) {
                             return a.integral < b.integral;
                         })->integral;
    std::vector<std::uint64_t> spectrum(300);
    for (auto const& pulse : pulses)
        ++spectrum[std::min<std::size_t>(299, static_cast<std::size_t>(300 * std::max(0.0, pulse.integral) / highest))];
    auto const bin = std::max_element(spectrum.begin(), spectrum.end()) - spectrum.begin();
    auto const about = (static_cast<double>(bin) + 0.5) * highest / 300;
    double sum = 0, count = 0;
    for (auto const& pulse : pulses)
        if (std::abs(pulse.integral - about) < 0.08 * about) sum += pulse.integral, ++count;
    return sum / count / peak_kev;
}

// Returns the times from a first gamma to a second one in another detector, in ns, below `window_ns` in both
// directions.
std::vector<double> time_differences_ns(std::vector<Pulse> const& pulses, DigitizerOptions const& options,
                                        double window_ns) {
    auto const cascade = cascade_of(options.isotope);
    auto const scale = integral_per_kev(pulses, cascade.first.energy_kev);
    auto const is_of = [&](Pulse const& pulse, Gamma const& gamma) {
        auto const width_kev = options.energy_resolution * std::sqrt(662 * gamma.energy_kev);
        return std::abs(pulse.integral / scale - gamma.energy_kev) < width_kev;
    };
    std::vector<double> differences;
    for (std::size_t i = 0; i < pulses.size(); ++i)
        for (auto j = i + 1; j < pulses.size(); ++j) {
            auto const later_ns = static_cast<double>(pulses[j].time_ps - pulses[i].time_ps) * 1e-3;
            if (later_ns > window_ns) break;
            if (pulses[i].channel == pulses[j].channel) continue;
            if (is_of(pulses[i], cascade.first) && is_of(pulses[j], cascade.second)) differences.push_back(later_ns);
            if (is_of(pulses[j], cascade.first) && is_of(pulses[i], cascade.second)) differences.push_back(-later_ns);
        }
    return differences;
}

// Fits an exponential on a flat background by maximum likelihood. Before time zero there is only background. The first
// 2 ns after it are left out, because the resolution bends the exponential there.
double fit_half_life_ns(std::vector<double> const& differences, double window_ns) {
    constexpr double kBeginNs = 2;
    auto const length_ns = window_ns - kBeginNs;
    auto const in_window = [&](double sign) {
        return [=](double difference) { return sign * difference > kBeginNs && sign * difference < window_ns; };
    };
    auto const background = static_cast<double>(std::count_if(differences.begin(), differences.end(), in_window(-1)));
    auto const all = static_cast<double>(std::count_if(differences.begin(), differences.end(), in_window(1)));
    auto const log_likelihood = [&](double half_life_ns) {
        auto const decay_rate = std::numbers::ln2 / half_life_ns;
        auto const signal = (all - background) * decay_rate / (1 - std::exp(-decay_rate * length_ns));
        double sum = 0;
        for (auto const difference : differences)
            if (in_window(1)(difference))
                sum += std::log(signal * std::exp(-decay_rate * (difference - kBeginNs)) + background / length_ns);
        return sum;
    };
    double low = 1, high = 1000;
    while (high / low > 1.0005) {
        auto const third = std::cbrt(high / low);
        if (log_likelihood(low * third) < log_likelihood(high / third))
            low *= third;
        else
            high /= third;
    }
    return std::sqrt(low * high);
}

class HalfLife : public testing::TestWithParam<Isotope> {};

TEST_P(HalfLife, ComesBackFromCoincidencesBetweenChannels) {
    DigitizerOptions options;
    options.isotope = GetParam();
    options.record_samples = 1200;
    options.activity_hz = 20'000;
    options.duration_ns = 5'000'000'000;
    auto const truth_ns = cascade_of(options.isotope).half_life_ns;
    auto const window_ns = 10 * truth_ns;
    auto const differences = time_differences_ns(record(options), options, window_ns);
    ASSERT_GT(differences.size(), 30'000u);
    auto const half_life_ns = fit_half_life_ns(differences, window_ns);
    RecordProperty("half_life_ns", std::to_string(half_life_ns));
    RecordProperty("coincidences", std::to_string(differences.size()));
    EXPECT_NEAR(half_life_ns, truth_ns, 0.03 * truth_ns) << differences.size() << " coincidences";
}

INSTANTIATE_TEST_SUITE_P(Isotopes, HalfLife, testing::Values(Isotope::hf181, Isotope::in111),
                         [](auto const& isotope) { return isotope.param == Isotope::hf181 ? "Hf181" : "In111"; });

TEST(Spectrum, NoIsotopeNoCoincidences) {
    DigitizerOptions options;
    options.isotope = Isotope::none;
    options.record_samples = 1200;
    options.activity_hz = 1'000;
    options.duration_ns = 3'000'000'000;
    auto const pulses = record(options);
    ASSERT_GT(pulses.size(), 10'000u);
    std::uint64_t close = 0;
    for (std::size_t i = 1; i < pulses.size(); ++i) close += pulses[i].time_ps - pulses[i - 1].time_ps < 100'000;
    EXPECT_LT(close, 40u); // 18,000 pulses at 6 kHz, by chance within 100 ns: 11
}

} // namespace
} // namespace thalweg::source
