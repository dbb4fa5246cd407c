// The markers of triggered streaming: each record has one, which says when its trigger came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::source::acqiris {

constexpr std::size_t kMarkerWords = 16;

__extension__ using Uint128 = unsigned __int128;

struct Marker {
    std::uint32_t tag = 0;
    std::uint32_t index = 0;    // of the record: 24 bits, which begin again after 14 minutes at 20 kHz
    std::uint64_t position = 0; // of the trigger, in 1/256 of a sample; the first sample is the whole one before it
};

Marker marker_at(std::span<std::uint32_t const> words);

// A record whose marker was looked at.
struct Checked {
    bool is_good = false;
    Uint128 position = 0; // without the jumps of 64 bits, which come after 83 days at 10 GS/s
};

// Checks markers in their order, from the first one after a start. A record with a bad marker has no time.
class MarkerCheck {
  public:
    void restart();
    // Looks at whole markers. Appends to `checked`.
    void check(std::span<std::uint32_t const> words, std::vector<Checked>& checked);

    std::uint64_t bad() const { return bad_; }
    std::uint64_t missing() const { return missing_; } // records that have no marker

  private:
    bool take(Marker const& marker, Marker const* next);
    void settle_doubt(Marker const& marker);
    bool has_index(Marker const& marker, Marker const* next);
    bool has_position(Marker const& marker, Marker const* next);

    std::uint32_t expected_ = 0;
    bool has_begun_ = false;
    std::uint64_t last_ = 0; // position
    int out_of_order_ = 0;   // markers in a row whose positions do not follow it
    Uint128 base_ = 0;
    std::uint32_t doubtful_ = 0;        // a jump of the index that no next marker has confirmed yet
    std::uint32_t before_doubtful_ = 0; // the index that was expected instead
    std::uint64_t bad_ = 0, missing_ = 0;
};

// Returns a position in picoseconds. No intermediate result has too few bits; the sum itself has enough for 213 days.
std::uint64_t picoseconds(Uint128 position, std::uint64_t samples_per_s);

} // namespace thalweg::source::acqiris
