// The settings of a card.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::source::acqiris {

enum class Mode : std::uint8_t { automatic, streaming, records };
enum class Packing : std::uint8_t { automatic, ten_bits, sixteen_bits };

struct Options {
    std::string library = "libAqMD3.so";
    std::string resource;
    std::string driver_options = "Simulate=false"; // for InitWithOptions
    Mode mode = Mode::automatic;
    std::uint32_t channels = 1;
    double sample_rate = 0; // in 1/s; 0: what the card has
    std::uint64_t samples = 10'496;
    double range_v = 1;
    double offset_v = 0;
    std::string trigger = "External1";
    double trigger_level_v = 0;
    bool falling = false;
    std::uint64_t batch = 64; // records that are fetched at once
    bool calibrate = true;
    Packing packing = Packing::automatic;
    bool high_first = false; // of packed samples
    bool is_signed = false;  // of packed samples
    bool test_pattern = false;
    bool clock_restarts = true;
    double temperature_period_s = 1; // 0: none is recorded
};

} // namespace thalweg::source::acqiris
