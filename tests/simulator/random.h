// The only source of chance in a history: what follows from a seed is the same on all machines.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace thalweg::simulator {

inline std::uint64_t mix(std::uint64_t value) { // splitmix64
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

    std::uint64_t word() { return mix(state_ += 0x9e3779b97f4a7c15); }
    // Returns 0 if `end` is 0.
    std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : word() % end; }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
    bool chance(double share) { return static_cast<double>(word() >> 11) * 0x1p-53 < share; }
    // All orders of magnitude up to `most` are equally likely.
    std::uint64_t any_size(std::uint64_t most) {
        std::uint64_t size = most;
        if (most > 1) size >>= below(static_cast<std::uint64_t>(std::bit_width(most)));
        return between(size / 2, size);
    }
    template <class Value> Value one_of(std::initializer_list<Value> values) {
        return *std::next(values.begin(), static_cast<std::ptrdiff_t>(below(values.size())));
    }

  private:
    std::uint64_t state_;
};

} // namespace thalweg::simulator
