// An emulated digitizer card, modelled on the Acqiris U5310A of MULTIPAC: LaBr3(Ce) crystals on SiPMs see gamma
// cascades.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "thalweg/source/physics.h"
#include "thalweg/source/source.h"

namespace thalweg::source {

enum class Isotope : std::uint8_t { none, hf181, in111 };

// Parses "181Hf", "111In" or "none"; throws base::UsageError, which lists them.
Isotope parse_isotope(std::string_view name);
std::string_view name_of(Isotope isotope);

// The trigger rate of one channel: as many as the reader can take, or so many per second of wall time.
struct Rate {
    double records_per_s = 0; // 0: use bytes_per_s
    double bytes_per_s = 0;   // rate of raw rows; both 0: max

    bool is_max() const { return records_per_s == 0 && bytes_per_s == 0; }
};

// Parses "max", "1000/s" or "1000", "2.5GB/s"; throws base::UsageError for anything else.
Rate parse_rate(std::string_view text);

struct DigitizerOptions {
    std::uint32_t channels = 6;
    double sample_rate_hz = 10e9;
    std::uint32_t record_samples = 10'496;
    double pretrigger_fraction = 0.1; // share of the record before the pulse
    Isotope isotope = Isotope::hf181;
    std::uint64_t seed = 1;
    Rate rate;
    // The triggers per channel and second of the card's clock if `rate` is max. Physics time then runs faster (or
    // slower) than wall time.
    double activity_hz = 100'000;
    // Share of the seen decays that two detectors see. If there is an angular correlation, W times as many.
    double coincidence_fraction = 0.3;
    double background_fraction = 0.2; // share of the other hits that are background
    double time_resolution_ps = 300;  // FWHM of the time difference of two detectors
    double energy_resolution = 0.033; // FWHM / E at 662 keV
    double noise_adc = 1.5;           // sigma, white
    double baseline_adc = 80;
    double gain_adc_per_kev = 1.35; // height of a pulse: 700 keV reach the top of the 10 bits
    bool waveforms = true;          // false: rows have the energy in the place of the samples
    Physics physics;
    std::uint64_t onboard_bytes = 4'000'000'000; // for each channel
    std::uint32_t pool_pulses = 1024;            // distinct pulses; each needs 2 bytes per sample: 21.5 MB
    std::uint64_t record_limit = 0;              // for each stream; 0: none
    std::uint64_t duration_ns = 0;               // of the card's clock; 0: none
    // The base::monotonic_ns() at which the card's clock is 0; 0: at the first next() of a stream. It applies only if a
    // rate is given.
    std::uint64_t start_ns = 0;
};

// Returns a source with tables "ch0", "ch1", ...: timestamp (uint64, ps), waveform {t0, dt (float32, ns), values
// (uint16[record_samples])}. `timestamp` is the arrival of the pulse with all digits, as the card interpolates it. `t0`
// is the time of the first sample relative to it (negative), so it tells where between two samples the pulse began.
// Pulses that come during a record are in its samples. Without waveforms the tables are timestamp and energy (float32,
// keV by the nominal gain), and what comes during a record is lost.
std::unique_ptr<Source> make_digitizer(DigitizerOptions const& options);

} // namespace thalweg::source
