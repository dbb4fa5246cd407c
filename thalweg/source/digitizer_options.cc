#include "thalweg/source/digitizer_options.h"

#include <charconv>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/correlation.h"
#include "thalweg/source/decays.h"

namespace thalweg::source {
namespace {

constexpr double kLeastRate = 1e-6; // one record in 11 days

constexpr char const* kOfTimestamp = "arrival of the pulse, since start of run on the digitizer's own clock";

constexpr Isotope kIsotopes[] = {Isotope::none, Isotope::hf181, Isotope::in111};

void require(bool condition, std::string_view problem, std::string_view why) {
    if (!condition) base::fail_usage({fmt::format("digitizer: {}", problem), std::string(why)});
}

std::string text_of(Rate const& rate) {
    if (rate.is_max()) return "max";
    return rate.records_per_s != 0 ? fmt::format("{}/s", rate.records_per_s) : fmt::format("{} B/s", rate.bytes_per_s);
}

std::string correlation_text(Physics const& physics) {
    if (physics.detectors.empty()) return "none";
    return fmt::format("A22 = {}, A44 = {}", physics.a22, physics.a44);
}

} // namespace

std::string_view name_of(Isotope isotope) {
    switch (isotope) {
    case Isotope::hf181:
        return "181Hf";
    case Isotope::in111:
        return "111In";
    case Isotope::none:
        break;
    }
    return "none";
}

Isotope parse_isotope(std::string_view name) {
    for (auto const isotope : kIsotopes)
        if (name == name_of(isotope)) return isotope;
    base::fail_usage({fmt::format("no isotope '{}' is emulated", name), "", "choose 181Hf, 111In or none"});
}

Rate parse_rate(std::string_view text) {
    if (text == "max") return {};
    auto const fail = [&] {
        base::fail_usage({fmt::format("'{}' is no rate", text), "", "write max, 1000/s (records) or 2.5GB/s"});
    };
    auto amount = text;
    if (amount.ends_with("/s")) amount.remove_suffix(2);
    Rate rate;
    if (amount.ends_with("B")) {
        rate.bytes_per_s = static_cast<double>(base::parse_size_bytes(amount));
    } else {
        auto const [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), rate.records_per_s);
        if (error != std::errc{} || end != amount.data() + amount.size()) fail();
    }
    if (!(rate.records_per_s + rate.bytes_per_s > 0)) fail();
    if (rate.records_per_s + rate.bytes_per_s < kLeastRate) {
        base::fail_usage({fmt::format("'{}' is no rate", text), fmt::format("it is less than {}/s", kLeastRate),
                          "write max, 1000/s (records) or 2.5GB/s"});
    }
    return rate;
}

void validate(DigitizerOptions const& options) {
    auto const fraction = [](double value) { return value >= 0 && value <= 1; };
    require(options.channels >= 1 && options.channels <= 4096, fmt::format("{} channels", options.channels),
            "1 to 4096 are possible");
    require(options.sample_rate_hz >= 1e6 && options.sample_rate_hz <= 1e12,
            fmt::format("{} samples/s", options.sample_rate_hz), "10^6 to 10^12 are possible");
    require(options.record_samples >= 16, fmt::format("records of {} samples", options.record_samples),
            "a pulse needs 16 at least");
    require(options.pretrigger_fraction >= 0 && options.pretrigger_fraction <= 0.9,
            fmt::format("pretrigger fraction {}", options.pretrigger_fraction), "0 to 0.9 are possible");
    require(fraction(options.coincidence_fraction) && fraction(options.background_fraction),
            fmt::format("fractions of coincidences {} and of background {}", options.coincidence_fraction,
                        options.background_fraction),
            "each is between 0 and 1");
    require(options.time_resolution_ps >= 0 && options.energy_resolution >= 0 && options.noise_adc >= 0 &&
                options.noise_adc <= 1000,
            "time resolution, energy resolution or noise", "none can be negative, and 1000 ADC of noise are too many");
    require(options.baseline_adc >= 0 && options.baseline_adc < 1000 && options.gain_adc_per_kev > 0,
            fmt::format("baseline {} ADC, gain {} ADC/keV", options.baseline_adc, options.gain_adc_per_kev),
            "the baseline is 0 to 1000 of 1023, the gain positive");
    require(options.pool_pulses >= 1, "a pool without pulses", "there must be one at least");
    validate(options.physics, options.channels);
    auto const bound = Correlation(options.physics, cascade_of(options.isotope).half_life_ns).bound();
    require(options.coincidence_fraction * bound <= 1,
            fmt::format("a fraction of coincidences of {}", options.coincidence_fraction),
            fmt::format("W can be {}, and more than all decays cannot be coincidences", bound));
    require(options.onboard_bytes >= row_bytes(options), fmt::format("{} bytes on board", options.onboard_bytes),
            fmt::format("one record has {}", row_bytes(options)));
    // While a record is taken there is no other: the closer the rate comes to this limit, the more pulses are needed.
    auto const busy = records_per_s(options) * options.record_samples / options.sample_rate_hz;
    require(busy > 0 && busy <= 0.9, fmt::format("{} records/s and channel", records_per_s(options)),
            fmt::format("a record lasts {} ns, so up to {:.0f} records/s are possible",
                        1e9 * options.record_samples / options.sample_rate_hz,
                        0.9 * options.sample_rate_hz / options.record_samples));
}

model::Table table_of_channel(DigitizerOptions const& options, std::uint32_t channel) {
    using model::Field, model::Kind, model::Scalar;
    if (!options.waveforms) {
        return {
            .name = fmt::format("ch{}", channel),
            .fields = {Field{.name = "timestamp", .scalar = Scalar::uint64, .unit = "ps", .description = kOfTimestamp},
                       Field{.name = "energy",
                             .scalar = Scalar::float32,
                             .unit = "keV",
                             .description = "by the nominal gain of the card"}},
            .description = fmt::format("channel {} of the emulated digitizer", channel)};
    }
    return {.name = fmt::format("ch{}", channel),
            .fields = {Field{.name = "timestamp", .scalar = Scalar::uint64, .unit = "ps", .description = kOfTimestamp},
                       Field{.name = "waveform",
                             .kind = Kind::record,
                             .members = {Field{.name = "t0",
                                               .scalar = Scalar::float32,
                                               .unit = "ns",
                                               .description = "time of the first sample, from the timestamp on"},
                                         Field{.name = "dt",
                                               .scalar = Scalar::float32,
                                               .unit = "ns",
                                               .description = "time from sample to sample"},
                                         Field{.name = "values",
                                               .scalar = Scalar::uint16,
                                               .shape = {options.record_samples},
                                               .unit = "ADC",
                                               .description = "10 bits"}}}},
            .description = fmt::format("channel {} of the emulated digitizer", channel)};
}

std::uint64_t row_bytes(DigitizerOptions const& options) {
    if (!options.waveforms) return sizeof(std::uint64_t) + sizeof(float);
    return sizeof(std::uint64_t) + 2 * sizeof(float) + sizeof(std::uint16_t) * std::uint64_t{options.record_samples};
}

double records_per_s(DigitizerOptions const& options) {
    if (options.rate.is_max()) return options.activity_hz;
    if (options.rate.records_per_s != 0) return options.rate.records_per_s;
    return options.rate.bytes_per_s / static_cast<double>(row_bytes(options));
}

std::map<std::string, std::string> describe(DigitizerOptions const& options) {
    std::map<std::string, std::string> about = {
        {"source", "digitizer (emulated, after the Acqiris U5310A)"},
        {"clock_domain", "the digitizer's own clock: ps since start of run, one clock for all channels; not UTC"},
        {"channels", fmt::to_string(options.channels)},
        {"sample_rate_hz", fmt::to_string(options.sample_rate_hz)},
        {"record_samples", fmt::to_string(options.record_samples)},
        {"pretrigger_fraction", fmt::to_string(options.pretrigger_fraction)},
        {"isotope", std::string(name_of(options.isotope))},
        {"half_life_ns", fmt::to_string(cascade_of(options.isotope).half_life_ns)},
        {"angular_correlation", correlation_text(options.physics)},
        {"waveforms", options.waveforms ? "all" : "none"},
        {"seed", fmt::to_string(options.seed)},
        {"rate", text_of(options.rate)},
        {"records_per_s", fmt::to_string(records_per_s(options))},
        {"coincidence_fraction", fmt::to_string(options.coincidence_fraction)},
        {"background_fraction", fmt::to_string(options.background_fraction)},
        {"time_resolution_ps", fmt::to_string(options.time_resolution_ps)},
        {"energy_resolution", fmt::to_string(options.energy_resolution)},
        {"noise_adc", fmt::to_string(options.noise_adc)},
        {"baseline_adc", fmt::to_string(options.baseline_adc)},
        {"gain_adc_per_kev", fmt::to_string(options.gain_adc_per_kev)},
        {"onboard_bytes", fmt::to_string(options.onboard_bytes)},
        {"pool_pulses", fmt::to_string(options.pool_pulses)},
    };
    if (!options.physics.description.empty()) about["physics"] = options.physics.description;
    return about;
}

} // namespace thalweg::source
