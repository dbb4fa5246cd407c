// Chooses the ranges that an observer asks for: it goes from range to range and takes some of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

#include "thalweg/base/assert.h"
#include "thalweg/base/random.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::readout {

class Sampler {
  public:
    Sampler(double fraction, std::uint32_t range_events) : fraction_(fraction), range_events_(range_events) {}

    // The handler has nothing left where the sampler is: it looks again at what there is.
    void has_fallen_behind() { has_fallen_behind_ = true; }
    // Returns the next range, or nothing if the handler must be asked again what there is.
    std::optional<RangeId> next(Welcome const& welcome) {
        if (welcome.closed_event == 0 || has_fallen_behind_) {
            next_ = 0;
            has_fallen_behind_ = false;
            return std::nullopt;
        }
        if (next_ == 0) {
            auto const recent = welcome.closed_event - std::min<std::uint64_t>(welcome.closed_event, range_events_);
            next_ = std::max(welcome.first_event, recent);
        }
        while (std::uniform_real_distribution<double>()(random_) >= fraction_) next_ += range_events_;
        auto const rest_of_ecr = kEventsOfEcr - next_ % kEventsOfEcr;
        RangeId const id{welcome.run, next_, std::min<std::uint64_t>(rest_of_ecr, range_events_)};
        THALWEG_ASSERT(id.count > 0, "a range has an event");
        next_ += id.count;
        return id;
    }

  private:
    double fraction_;
    std::uint32_t range_events_;
    std::mt19937_64 random_{base::random_word()};
    std::uint64_t next_ = 0; // an event; 0: begin with recent ones
    bool has_fallen_behind_ = false;
};

} // namespace thalweg::readout
