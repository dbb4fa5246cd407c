#include "thalweg/source/pulse_pool.h"

#include <algorithm>
#include <cmath>

#include "thalweg/base/assert.h"
#include "thalweg/base/parallel.h"

namespace thalweg::source {
namespace {

constexpr double kLightRiseNs = 0.7;         // LaBr3(Ce)
constexpr double kLightDecayNs = 25;         // LaBr3(Ce)
constexpr double kSipmRiseNs = 1.5;          // of the amplifier
constexpr double kSipmRecoveryNs = 4;        // of a cell
constexpr double kPhotoelectronsPerKev = 15; // 63 photons, of which the SiPM detects a quarter

// The light that reaches each sample after the gamma: a difference of two exponentials with the integral 1. The gamma
// came `age_ns` before the first sample.
class Light {
  public:
    Light(double dt_ns, double age_ns)
        : decay_(std::exp(-age_ns / kLightDecayNs)), rise_(std::exp(-age_ns / kLightRiseNs)),
          decay_step_(std::exp(-dt_ns / kLightDecayNs)), rise_step_(std::exp(-dt_ns / kLightRiseNs)),
          scale_(dt_ns / (kLightDecayNs - kLightRiseNs)) {}

    double next() {
        auto const light = scale_ * (decay_ - rise_);
        decay_ *= decay_step_;
        rise_ *= rise_step_;
        return light;
    }

  private:
    double decay_, rise_, decay_step_, rise_step_, scale_;
};

// Turns light into current: two low-pass filters of one pole each.
class Sipm {
  public:
    explicit Sipm(double dt_ns)
        : recovery_gain_(1 - std::exp(-dt_ns / kSipmRecoveryNs)), rise_gain_(1 - std::exp(-dt_ns / kSipmRiseNs)) {}

    double answer(double light) {
        cells_ += (light - cells_) * recovery_gain_;
        current_ += (cells_ - current_) * rise_gain_;
        return current_;
    }

  private:
    double recovery_gain_, rise_gain_, cells_ = 0, current_ = 0;
};

// Returns the height of a pulse of light 1 without fluctuations.
double pulse_height(double dt_ns) {
    Light light(dt_ns, dt_ns / 2);
    Sipm sipm(dt_ns);
    double height = 0;
    // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): one step more or less finds the same maximum
    for (double t = 0; t < 4 * kLightDecayNs + dt_ns; t += dt_ns) height = std::max(height, sipm.answer(light.next()));
    return height;
}

struct Shape {
    double dt_ns;
    double height;
    double begin; // in samples
    NormalTable normal;
};

// Photons come one by one, so a sample fluctuates by the square root of their number. The sum is scaled back to the
// light of its energy, because the requested energy already contains the resolution of the crystal.
void add_pulse(std::span<float> signal, Shape const& shape, double phase, double amplitude_adc, double photoelectrons,
               Random& random) {
    auto const first = static_cast<std::size_t>(shape.begin) + 1;
    auto const end = std::min(signal.size(), first + static_cast<std::size_t>(15 * kLightDecayNs / shape.dt_ns));
    Light light(shape.dt_ns, (1 - phase) * shape.dt_ns);
    Sipm sipm(shape.dt_ns);
    double expected = 0;
    double seen = 0;
    for (auto i = first; i < end; ++i) {
        auto const mean = light.next();
        auto const photons = mean + std::sqrt(mean / photoelectrons) * static_cast<double>(shape.normal[random.bits()]);
        expected += mean;
        seen += photons;
        signal[i] = static_cast<float>(sipm.answer(photons));
    }
    auto const correction = seen > expected / 2 ? expected / seen : 1;
    auto const scale = static_cast<float>(amplitude_adc / shape.height * correction);
    for (auto i = first; i < end; ++i) signal[i] *= scale;
}

void digitize(std::span<float const> signal, std::span<std::uint16_t> values, Shape const& shape,
              DigitizerOptions const& options, Random& random) {
    auto const noise = static_cast<float>(options.noise_adc);
    auto const offset = static_cast<float>(options.baseline_adc) + 0.5f; // 0.5 rounds
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i, bits >>= NormalTable::kBits) {
        if (i % 4 == 0) bits = random.bits();
        auto const level = signal[i] + offset + noise * shape.normal[bits];
        values[i] = static_cast<std::uint16_t>(std::clamp(level, 0.0f, PulsePool::kFullScale));
    }
}

} // namespace

PulsePool::PulsePool(DigitizerOptions const& options)
    : record_samples_(options.record_samples),
      // The range is exceeded by a quarter, so that the largest pulses are clipped.
      step_kev_(1.25 * (PulsePool::kFullScale - options.baseline_adc) / options.gain_adc_per_kev / options.pool_pulses),
      values_(std::size_t{options.pool_pulses} * options.record_samples), t0_ns_(options.pool_pulses) {
    THALWEG_ASSERT(!t0_ns_.empty() && step_kev_ > 0, "a pool has pulses of ascending energies");
    auto const dt_ns = 1e9 / options.sample_rate_hz;
    Shape const shape{.dt_ns = dt_ns,
                      .height = pulse_height(dt_ns),
                      .begin = std::floor(options.pretrigger_fraction * options.record_samples),
                      .normal = {}};
    base::parallel_for(options.pool_pulses, base::usable_cores(), [&](std::size_t i) {
        Random random(Random(options.seed + i * 0xa0761d6478bd642f).bits());
        auto const phase = random.uniform();
        auto const energy_kev = (static_cast<double>(i) + 0.5) * step_kev_;
        std::vector<float> signal(record_samples_);
        add_pulse(signal, shape, phase, options.gain_adc_per_kev * energy_kev, kPhotoelectronsPerKev * energy_kev,
                  random);
        digitize(signal, {values_.data() + i * record_samples_, record_samples_}, shape, options, random);
        t0_ns_[i] = static_cast<float>(-(shape.begin + phase) * dt_ns);
    });
}

std::size_t PulsePool::index_of(double energy_kev) const {
    return std::min(static_cast<std::size_t>(energy_kev / step_kev_), t0_ns_.size() - 1);
}

} // namespace thalweg::source
