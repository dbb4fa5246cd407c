#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/source/decays.h"

namespace thalweg::source {

struct Trigger {
    Hit hit;
    std::vector<Hit> piled_up; // hits during its record, whose pulses are in its samples
};

// The hits of a channel that start a record. A hit during the record of another one starts none.
class Triggers {
  public:
    Triggers(DigitizerOptions const& options, std::uint32_t channel);

    bool ended() const { return end_ps_ != 0 && hits_.peek().time_ps >= end_ps_; }
    Hit const& peek() const { return hits_.peek(); }
    Trigger take();
    void skip_until(std::uint64_t time_ps);
    std::uint64_t piled_up() const { return piled_up_; }

  private:
    Hits hits_;
    std::uint64_t record_ps_;
    std::uint64_t end_ps_;
    bool has_samples_;
    std::uint64_t piled_up_ = 0;
};

} // namespace thalweg::source
