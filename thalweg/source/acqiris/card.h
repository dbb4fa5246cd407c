// A digitizer of Acqiris, with the calls of a source.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/source/acqiris/acquisition.h"
#include "thalweg/source/acqiris/driver.h"
#include "thalweg/source/acqiris/options.h"

namespace thalweg::source::acqiris {

// One thread calls it, except counted().
class Card {
  public:
    // Opens, configures and calibrates the card. Throws base::UsageError if it cannot do what the options say, and
    // DriverError if it does not answer.
    explicit Card(Options options);

    std::string describe() const; // as JSON
    void start();
    // The records that come until now are the last ones.
    void stop();

    enum class Got : std::uint8_t { records, temperature, nothing, overflow };
    // Waits for rows for at most so long. Records of channel() are in records() until the next call.
    Got next(std::uint64_t timeout_ns);
    std::uint32_t channel() const { return channel_; }
    Records const& records() const { return records_; }
    struct Temperature {
        std::int64_t utc_ns = 0;
        std::uint64_t monotonic_ns = 0;
        double value = 0; // degrees Celsius
    };
    Temperature const& temperature() const { return temperature_; }

    std::uint32_t channels() const { return options_.channels; }
    Counted counted(std::uint32_t channel) const { return acquisition_->counted(channel); }

  private:
    void read_identity();
    void configure();
    void try_test_pattern();
    void initiate();
    void abort();
    bool is_packed() const { return facts_.packing == Packing::ten_bits; }
    std::optional<Got> take_temperature();

    Options options_;
    Functions functions_;
    Instrument card_;
    Facts facts_;
    bool streams_ = false;
    std::string model_, serial_, firmware_, driver_, licences_;
    std::unique_ptr<Acquisition> acquisition_;
    bool is_running_ = false;
    std::uint32_t next_channel_ = 0, channel_ = 0;
    Records records_;
    Temperature temperature_;
    std::uint64_t next_temperature_ns_ = 0;
};

} // namespace thalweg::source::acqiris
