#include "thalweg/readout/client/history.h"

#include <algorithm>
#include <iterator>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

// Ranges come nearly in order, so there are few gaps. If there are more, the oldest ranges are forgotten.
constexpr std::size_t kMostRanges = 4096;

} // namespace

bool History::contains(std::uint64_t event) const {
    auto const behind = end_of_.upper_bound(event);
    return behind != end_of_.begin() && event < std::prev(behind)->second;
}

std::uint64_t History::remove(std::uint64_t first, std::uint64_t end) {
    std::uint64_t removed = 0;
    auto at = end_of_.upper_bound(first);
    if (at != end_of_.begin()) --at;
    while (at != end_of_.end() && at->first < end) {
        auto const [known_first, known_end] = *at;
        auto const from = std::max(first, known_first), to = std::min(end, known_end);
        if (from >= to) {
            ++at;
            continue;
        }
        removed += to - from;
        at = end_of_.erase(at);
        if (known_first < from) end_of_.emplace(known_first, from);
        if (to < known_end) end_of_.emplace(to, known_end);
        at = end_of_.upper_bound(to);
    }
    return removed;
}

void History::add(std::uint64_t first, std::uint64_t end) {
    if (first >= end) return;
    auto at = end_of_.upper_bound(first);
    if (at != end_of_.begin() && std::prev(at)->second >= first) --at;
    while (at != end_of_.end() && at->first <= end) {
        first = std::min(first, at->first);
        end = std::max(end, at->second);
        at = end_of_.erase(at);
    }
    THALWEG_ASSERT(at == end_of_.end() || end < at->first, "known ranges neither touch nor overlap");
    end_of_.emplace(first, end);
    if (end_of_.size() > kMostRanges) end_of_.erase(end_of_.begin());
}

} // namespace thalweg::readout
