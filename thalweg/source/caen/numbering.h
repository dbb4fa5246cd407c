// Numbers that begin again after so many bits.
#pragma once

#include <cstdint>

namespace thalweg::source::caen {

// Time tags, in the order in which they come, without jumps back.
class TimeTags {
  public:
    explicit TimeTags(unsigned bits) : bits_(bits) {}

    // The tags begin at 0 now.
    void restart(std::uint64_t host_ns) {
        last_ = 0;
        last_ns_ = host_ns;
    }
    // `empty_ns` is when the board was last seen to have no event. Tags begin again each time that their range has
    // passed: from this and the time of the last tag it is known how often, if events come within a quarter of it.
    std::uint64_t unwrap(std::uint64_t tag, std::uint64_t host_ns, std::uint64_t empty_ns, double tick_ns);

  private:
    unsigned bits_;
    std::uint64_t last_ = 0, last_ns_ = 0;
};

// Numbers of triggers, of 24 bits.
class TriggerIds {
  public:
    void restart() { has_begun_ = false; }
    // Returns how many triggers are missing before this one.
    std::uint64_t missing_before(std::uint32_t id);

  private:
    bool has_begun_ = false;
    std::uint32_t expected_ = 0;
};

} // namespace thalweg::source::caen
