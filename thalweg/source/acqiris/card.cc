#include "thalweg/source/acqiris/card.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/acqiris/pattern.h"

namespace thalweg::source::acqiris {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kPollNs = base::kMsNs; // between two looks at a card that has nothing
constexpr std::int32_t kTriggeredStreaming = 2;
constexpr std::int32_t kDirectCoupling = 1;
constexpr std::int32_t kSlopeNegative = 0, kSlopePositive = 1;
constexpr std::int32_t kResetAtTriggerEnable = 2;
constexpr std::uint64_t kSampleSteps = 32; // a record is a multiple of these

std::int64_t utc_ns() {
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

} // namespace

Card::Card(Options options)
    : options_(std::move(options)), functions_(load_driver(options_.library)),
      card_(functions_, options_.resource, options_.driver_options) {
    read_identity();
    configure();
    if (options_.test_pattern) try_test_pattern();
    acquisition_ = streams_ ? make_streaming(card_, options_, facts_) : make_records(card_, options_);
}

void Card::read_identity() {
    if (card_.flag(Attribute::simulate)) {
        base::fail_usage({fmt::format("{} is simulated by the driver", options_.resource), "it cannot stream then",
                          "leave out Simulate=true in 'driver_options'"});
    }
    model_ = card_.text(Attribute::model);
    serial_ = card_.text(Attribute::serial_number);
    firmware_ = card_.text(Attribute::firmware);
    driver_ = card_.text(Attribute::driver_version);
    licences_ = card_.text(Attribute::options);
    bool const can_stream = licences_.find("CST") != std::string::npos;
    if (options_.mode == Mode::streaming && !can_stream) {
        base::fail_usage({fmt::format("{} {} cannot stream", model_, serial_),
                          fmt::format("it has no licence CST, but '{}'", licences_), "use mode = \"records\""});
    }
    streams_ = options_.mode != Mode::records && can_stream;
    facts_.packing = options_.packing;
    if (options_.packing == Packing::automatic)
        facts_.packing = model_.starts_with("U5310A") ? Packing::ten_bits : Packing::sixteen_bits;
    if (!streams_) facts_.packing = Packing::sixteen_bits; // as the driver gives them
}

void Card::configure() {
    if (options_.samples % kSampleSteps != 0) {
        base::fail_usage({fmt::format("a record of {} samples cannot be taken", options_.samples),
                          fmt::format("it must be a multiple of {}", kSampleSteps),
                          fmt::format("use {}", (options_.samples / kSampleSteps + 1) * kSampleSteps)});
    }
    if (streams_) card_.set_int32(Attribute::streaming_mode, kTriggeredStreaming);
    if (options_.sample_rate > 0) card_.set_real(Attribute::sample_rate, options_.sample_rate);
    card_.set_int64(Attribute::record_samples, static_cast<std::int64_t>(options_.samples));
    if (!streams_) card_.set_int64(Attribute::records_to_acquire, static_cast<std::int64_t>(options_.batch));
    for (std::uint32_t channel = 1; channel <= options_.channels; ++channel) {
        card_.call("ConfigureChannel", functions_.ConfigureChannel, fmt::format("Channel{}", channel).c_str(),
                   options_.range_v, options_.offset_v, kDirectCoupling, Bool{1});
    }
    card_.set_text(Attribute::active_trigger_source, options_.trigger);
    card_.set_real(Attribute::trigger_level, options_.trigger_level_v, options_.trigger);
    card_.set_int32(Attribute::trigger_slope, options_.falling ? kSlopeNegative : kSlopePositive, options_.trigger);
    if (!streams_) options_.clock_restarts = false; // it would begin again with each acquisition
    if (options_.clock_restarts) card_.set_int32(Attribute::time_reset_mode, kResetAtTriggerEnable);
    if (options_.test_pattern) card_.set_flag(Attribute::data_emulation, true);
    card_.call("ApplySetup", functions_.ApplySetup);
    if (options_.calibrate) card_.call("SelfCalibrate", functions_.SelfCalibrate);
    options_.sample_rate = card_.real(Attribute::sample_rate);
    facts_.samples_per_s = static_cast<std::uint64_t>(std::llround(options_.sample_rate));
    if (facts_.samples_per_s == 0)
        throw DriverError(fmt::format("{} says that it takes {} samples in a second", model_, options_.sample_rate), 0);
}

// The pattern of one record says whether its samples are unpacked in the right order. Then the card is used as always.
void Card::try_test_pattern() {
    if (is_packed()) {
        initiate();
        auto const elements = options_.samples * 10 / 8 / sizeof(std::int32_t);
        std::vector<std::int32_t> memory(elements * 2 + 64);
        std::int64_t available = 0, count = 0, first = 0;
        auto const end_ns = base::monotonic_ns() + base::kSecondNs;
        while (count == 0) {
            card_.call("StreamFetchDataInt32", functions_.StreamFetchDataInt32, "StreamCh1",
                       static_cast<std::int64_t>(elements), static_cast<std::int64_t>(memory.size()), memory.data(),
                       &available, &count, &first);
            if (count == 0 && base::monotonic_ns() > end_ns)
                throw DriverError("no record of the test pattern came within a second (is there a trigger?)", 0);
            if (count == 0) base::sleep_ns(kPollNs);
        }
        abort();
        auto const packed = std::as_bytes(std::span(memory).subspan(static_cast<std::size_t>(first), elements));
        if (auto const better = better_unpacking(packed, options_.samples, options_); !better.empty()) {
            base::fail_usage({fmt::format("the test pattern of {} is not smooth as its samples are unpacked", model_),
                              "", fmt::format("it is smooth with {}", better)});
        }
    }
    card_.set_flag(Attribute::data_emulation, false);
    card_.call("ApplySetup", functions_.ApplySetup);
}

std::string Card::describe() const {
    auto const is_signed = !is_packed() || options_.is_signed;
    auto const samples = is_signed ? "int16" : "uint16";
    Json tables = Json::array();
    for (std::uint32_t channel = 1; channel <= options_.channels; ++channel) {
        Json const fields = {
            {{"name", "timestamp"}, {"type", "uint64"}, {"unit", "ps"}, {"description", "time of the trigger"}},
            {{"name", "t0"},
             {"type", "float32"},
             {"unit", "ps"},
             {"description", "time of the first sample, from the trigger on"}},
            {{"name", "waveform"}, {"type", samples}, {"shape", {options_.samples}}}};
        tables.push_back({{"name", fmt::format("ch{}", channel)}, {"fields", fields}});
    }
    if (options_.temperature_period_s > 0) {
        Json const fields = {{{"name", "utc"}, {"type", "int64"}, {"unit", "ns"}},
                             {{"name", "monotonic"}, {"type", "uint64"}, {"unit", "ns"}},
                             {{"name", "value"}, {"type", "float64"}, {"unit", "degC"}}};
        tables.push_back({{"name", "temperature"}, {"fields", fields}});
    }
    Json const clock = {{"column", "timestamp"},
                        {"restarts", options_.clock_restarts},
                        {"domain", fmt::format("ps of the clock of {} {}", model_, serial_)}};
    Json const settings = {{"sample_rate", options_.sample_rate},
                           {"clock_restarts", options_.clock_restarts},
                           {"mode", streams_ ? "streaming" : "records"},
                           {"packing", is_packed() ? "packed10" : "int16"},
                           {"model", model_},
                           {"serial_number", serial_},
                           {"firmware", firmware_},
                           {"driver", driver_},
                           {"licences", licences_}};
    return Json{{"tables", tables}, {"clock", clock}, {"settings", settings}}.dump();
}

void Card::initiate() {
    try {
        card_.call("InitiateAcquisition", functions_.InitiateAcquisition);
    } catch (DriverError const& error) {
        if (error.code != kCalibrationRequired) throw;
        card_.call("SelfCalibrate", functions_.SelfCalibrate);
        card_.call("InitiateAcquisition", functions_.InitiateAcquisition);
    }
    is_running_ = true;
}

void Card::abort() {
    if (std::exchange(is_running_, false)) card_.call("Abort", functions_.Abort);
}

void Card::start() {
    abort();
    acquisition_->start();
    next_channel_ = 0;
    initiate();
}

void Card::stop() { acquisition_->stop(); }

std::optional<Card::Got> Card::take_temperature() {
    if (options_.temperature_period_s <= 0 || base::monotonic_ns() < next_temperature_ns_) return std::nullopt;
    next_temperature_ns_ =
        base::monotonic_ns() + static_cast<std::uint64_t>(options_.temperature_period_s * base::kSecondNs);
    temperature_.value = card_.real(Attribute::board_temperature);
    temperature_.utc_ns = utc_ns();
    temperature_.monotonic_ns = base::monotonic_ns();
    return Got::temperature;
}

Card::Got Card::next(std::uint64_t timeout_ns) {
    if (!is_running_) return Got::nothing;
    if (auto const temperature = take_temperature()) return *temperature;
    auto const end_ns = base::monotonic_ns() + timeout_ns;
    while (true) {
        std::uint32_t drained = 0;
        for (std::uint32_t i = 0; i < options_.channels; ++i) {
            channel_ = next_channel_;
            next_channel_ = (next_channel_ + 1) % options_.channels;
            auto const read = acquisition_->read(channel_, records_);
            if (read == Acquisition::Read::records) return Got::records;
            if (read == Acquisition::Read::drained) ++drained;
        }
        if (drained == options_.channels) {
            abort();
            return acquisition_->has_overflowed() ? Got::overflow : Got::nothing;
        }
        if (base::monotonic_ns() >= end_ns) return Got::nothing;
        base::sleep_ns(std::min(kPollNs, end_ns - base::monotonic_ns()));
    }
}

} // namespace thalweg::source::acqiris
