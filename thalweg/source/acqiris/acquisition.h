// How records come from a card: as a stream, or so many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/source/acqiris/driver.h"
#include "thalweg/source/acqiris/options.h"

namespace thalweg::source::acqiris {

// Records of one channel, one behind the other.
struct Records {
    std::vector<std::uint64_t> times_ps; // of the triggers
    std::vector<float> t0_ps;            // of the first sample, from the trigger on
    std::vector<std::byte> samples;      // 2 bytes each

    std::size_t count() const { return times_ps.size(); }
};

struct Counted {
    std::uint64_t bad_markers = 0;     // records that are left out, since their markers are wrong
    std::uint64_t missing_records = 0; // by the numbers of the markers
    std::uint64_t undrained = 0;       // records that were announced, and could not be read
    std::uint64_t overranges = 0;      // of the converter
};

class Acquisition {
  public:
    virtual ~Acquisition() = default;

    virtual void start() = 0;
    // The records that come until now are the last ones.
    virtual void stop() = 0;
    enum class Read : std::uint8_t {
        records,
        nothing, // yet
        drained, // nothing, and nothing will come before the next start
    };
    // Replaces `records` by the next ones of a channel.
    virtual Read read(std::uint32_t channel, Records& records) = 0;
    // Returns whether the card has stopped because its memory was full.
    virtual bool has_overflowed() const = 0;
    virtual Counted counted(std::uint32_t channel) const = 0;
};

// What the card said when it was configured.
struct Facts {
    std::uint64_t samples_per_s = 0;
    Packing packing = Packing::sixteen_bits;
};

// Both throw base::UsageError if the length of a record does not fit.
std::unique_ptr<Acquisition> make_streaming(Instrument& card, Options const& options, Facts const& facts);
std::unique_ptr<Acquisition> make_records(Instrument& card, Options const& options);

} // namespace thalweg::source::acqiris
