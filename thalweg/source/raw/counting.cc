#include "thalweg/source/raw/counting.h"

namespace thalweg::source::raw {

void SequenceCheck::see_other(std::uint64_t number) {
    auto const ahead = (number - *expected_) & mask_;
    bool const is_back = ahead > mask_ / 2;
    bool const begins_anew = (may_begin_anew_ && number < *expected_) || (is_back && late_ && number == *late_);
    may_begin_anew_ = false;
    if (is_back && !begins_anew) {
        out_of_order_.add(1);
        late_ = (number + 1) & mask_; // if this one follows, the sender counts from there
        return;
    }
    if (!begins_anew) lost_.add(ahead);
    late_.reset();
    expected_ = (number + 1) & mask_;
}

std::uint64_t WideClock::at(std::uint64_t ticks) {
    if (!has_begun_) now_ = ticks;
    has_begun_ = true;
    auto const ahead = (ticks - now_) & mask_;
    auto const back = mask_ - ahead + 1; // of a clock of 64 bits that goes back by nothing this is 0, and not used
    now_ = ahead >= half_ && back <= now_ ? now_ - back : now_ + ahead;
    return now_ * scale_;
}

} // namespace thalweg::source::raw
