#include <cmath>

#include "thalweg/base/clock.h"
#include "thalweg/source/caen/readers.h"

namespace thalweg::source::caen {

Reader::Reader(Connection& connection, Options const& options, Board& board)
    : connection_(connection), options_(options), board_(board),
      tick_ps_(static_cast<std::uint64_t>(std::llround(options.tick_ns * 1000))),
      tags_(board.channels, TimeTags(static_cast<unsigned>(options.time_bits))) {
    for (auto& tags : tags_) tags.restart(base::monotonic_ns());
}

void Reader::restart(bool clock_restarts) {
    ids_.restart();
    if (!clock_restarts) return;
    for (auto& tags : tags_) tags.restart(base::monotonic_ns());
}

Code Reader::read(int timeout_ms) {
    auto const code = take(timeout_ms);
    if (code == Code::timeout) empty_ns_ = base::monotonic_ns();
    return code;
}

std::uint64_t Reader::time_of(std::uint64_t tag, std::size_t channel) {
    return tags_[channel].unwrap(tag, base::monotonic_ns(), empty_ns_, options_.tick_ns) * tick_ps_;
}

void Reader::count_trigger(std::uint32_t id) { board_.counters.lost_triggers.add(ids_.missing_before(id)); }

} // namespace thalweg::source::caen
