#include "thalweg/source/acqiris/markers.h"

namespace thalweg::source::acqiris {
namespace {

constexpr std::uint32_t kTrigger = 0x01;
constexpr std::uint32_t kIndexMask = 0xffffff;
// A step of the index of more than half of its range is one to an earlier record.
constexpr std::uint32_t kHalfIndex = (kIndexMask + 1) / 2;

std::uint32_t step(std::uint32_t from, std::uint32_t to) { return (to - from) & kIndexMask; }

} // namespace

Marker marker_at(std::span<std::uint32_t const> words) {
    return {.tag = words[0] & 0xff, .index = words[0] >> 8, .position = words[1] | std::uint64_t{words[2]} << 32};
}

void MarkerCheck::restart() {
    has_begun_ = false;
    out_of_order_ = 0;
    missing_ += doubtful_;
    doubtful_ = 0;
    last_ = 0;
    base_ = 0;
}

void MarkerCheck::check(std::span<std::uint32_t const> words, std::vector<Checked>& checked) {
    for (std::size_t at = 0; at + kMarkerWords <= words.size(); at += kMarkerWords) {
        auto const marker = marker_at(words.subspan(at));
        Marker following;
        bool const has_next = at + 2 * kMarkerWords <= words.size();
        if (has_next) following = marker_at(words.subspan(at + kMarkerWords));
        if (!take(marker, has_next ? &following : nullptr)) {
            ++bad_;
            expected_ = (expected_ + 1) & kIndexMask; // its record is there
            checked.push_back({});
            continue;
        }
        if (marker.position < last_) base_ += static_cast<Uint128>(1) << 64;
        last_ = marker.position;
        checked.push_back({.is_good = true, .position = base_ + marker.position});
    }
}

bool MarkerCheck::take(Marker const& marker, Marker const* next) {
    if (marker.tag != kTrigger) return false;
    if (next != nullptr && next->tag != kTrigger) next = nullptr;
    if (!has_begun_) {
        has_begun_ = true;
        expected_ = marker.index;
    }
    settle_doubt(marker);
    auto const jump = step(expected_, marker.index);
    if (!has_index(marker, next) || !has_position(marker, next)) return false;
    if (jump != 0 && next == nullptr) {
        doubtful_ = jump;
        before_doubtful_ = expected_;
    } else {
        missing_ += jump;
    }
    expected_ = (marker.index + 1) & kIndexMask;
    return true;
}

// The last index of a batch has jumped: the first one of the next batch says whether it was wrong.
void MarkerCheck::settle_doubt(Marker const& marker) {
    if (doubtful_ == 0) return;
    if (step(before_doubtful_, marker.index) == 1)
        expected_ = marker.index;
    else
        missing_ += doubtful_;
    doubtful_ = 0;
}

// An index that jumps is wrong if the next marker goes on as if it did not.
bool MarkerCheck::has_index(Marker const& marker, Marker const* next) {
    auto const jump = step(expected_, marker.index);
    if (jump == 0) return true;
    return jump < kHalfIndex && (next == nullptr || step(expected_, next->index) != 1);
}

// A later record has a later position, unless its 64 bits have begun again. If several markers say otherwise, it is the
// one before them that was wrong.
bool MarkerCheck::has_position(Marker const& marker, Marker const* next) {
    constexpr int kMostOutOfOrder = 2;
    auto const forward = marker.position - last_;
    bool const follows = last_ == 0 || (forward != 0 && forward <= UINT64_MAX / 2);
    bool const is_behind_next = next != nullptr && next->position - last_ < forward && next->position != last_;
    if (follows && !is_behind_next) {
        out_of_order_ = 0;
        return true;
    }
    if (follows || ++out_of_order_ <= kMostOutOfOrder) return false;
    out_of_order_ = 0;
    last_ = 0;
    return true;
}

std::uint64_t picoseconds(Uint128 position, std::uint64_t samples_per_s) {
    constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
    auto const parts_per_s = static_cast<Uint128>(samples_per_s) * 256;
    return static_cast<std::uint64_t>(position * kPicosecondsPerSecond / parts_per_s);
}

} // namespace thalweg::source::acqiris
