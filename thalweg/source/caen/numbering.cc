#include "thalweg/source/caen/numbering.h"

namespace thalweg::source::caen {
namespace {

constexpr std::uint32_t kIdMask = 0xffffff;

} // namespace

std::uint64_t TimeTags::unwrap(std::uint64_t tag, std::uint64_t host_ns, std::uint64_t empty_ns, double tick_ns) {
    auto const range = std::uint64_t{1} << bits_;
    auto const quiet_ns = empty_ns > last_ns_ ? empty_ns - last_ns_ : 0;
    auto const quiet = static_cast<std::uint64_t>(static_cast<double>(quiet_ns) / tick_ns);
    auto const least = last_ + (quiet > range / 4 ? quiet - range / 4 : 0);
    last_ns_ = host_ns;
    // A small step back is an earlier event: otherwise nearly the whole range had passed without one.
    if (auto const back = (last_ - tag) & (range - 1); least == last_ && back < range / 16 && back <= last_)
        return last_ - back;
    return last_ = least + ((tag - least) & (range - 1));
}

std::uint64_t TriggerIds::missing_before(std::uint32_t id) {
    auto const missing = (id - expected_) & kIdMask;
    // A step of more than half of the range is one to an earlier number.
    if (has_begun_ && missing > kIdMask / 2) return 0;
    auto const had_begun = has_begun_;
    has_begun_ = true;
    expected_ = (id + 1) & kIdMask;
    return had_begun ? missing : 0;
}

} // namespace thalweg::source::caen
