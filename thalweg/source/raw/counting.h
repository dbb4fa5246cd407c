// Numbers in rows that count: sequences, in which a gap is a loss, and clocks, which begin again at 0.
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/base/shared_number.h"

namespace thalweg::source::raw {

// Compares the sequence numbers of rows with the order in which they come.
class SequenceCheck {
  public:
    explicit SequenceCheck(unsigned bits) : mask_(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {}

    void see(std::uint64_t number) {
        if (expected_ && number != *expected_) [[unlikely]]
            return see_other(number);
        expected_ = (number + 1) & mask_;
    }
    // The next number may be smaller without being late: the sender may have begun again.
    void begin_anew() { may_begin_anew_ = true; }
    // The next number is as good as any: rows were left out on purpose.
    void forget() { expected_.reset(), late_.reset(); }

    // Any thread may ask for these. A row that comes late counts among the lost ones, and as out of order.
    std::uint64_t lost() const { return lost_.get(); }
    std::uint64_t out_of_order() const { return out_of_order_.get(); }

  private:
    void see_other(std::uint64_t number);

    std::uint64_t mask_;
    std::optional<std::uint64_t> expected_;
    std::optional<std::uint64_t> late_; // the number of a row that came out of order just before
    bool may_begin_anew_ = false;
    base::SharedNumber lost_, out_of_order_;
};

// Lets a clock of few bits go on where it begins again at 0.
class WideClock {
  public:
    WideClock(unsigned bits, std::uint64_t scale)
        : half_(std::uint64_t{1} << (bits - 1)), mask_(2 * half_ - 1), scale_(scale) {}

    // Returns the time in all bits, times the scale. A step back of less than half the range is one: rows need not be
    // sorted.
    std::uint64_t at(std::uint64_t ticks);

  private:
    std::uint64_t half_, mask_, scale_;
    std::uint64_t now_ = 0; // in ticks; its low bits are those of the last row
    bool has_begun_ = false;
};

} // namespace thalweg::source::raw
