#include "thalweg/features/extractor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/error.h"

namespace thalweg::features {
namespace {

constexpr std::size_t kFewestPieces = 8; // of a baseline
constexpr std::size_t kMostPieces = 64;
constexpr double kDefaultBaseline = 0.05;  // of the record
constexpr double kDefaultThreshold = 0.01; // of the ADC's range
constexpr double kBlocksOfSmoothing = 4;
constexpr double kOutlier = 3;        // standard deviations
constexpr double kDeviation = 1.4826; // a standard deviation, in median absolute deviations

double median_of(std::vector<double>& values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

double FeatureOptions::least_adc() const {
    return threshold_adc > 0 ? threshold_adc : kDefaultThreshold * (std::int32_t{1} << bits);
}

FeatureExtractor::FeatureExtractor(FeatureOptions const& options, bool is_signed, SumKernel const& kernel)
    : options_(options), kernel_(kernel), mask_(level_mask(is_signed, options.is_negative)) {
    check(options);
    auto const range = std::int32_t{1} << options.bits;
    auto const largest = static_cast<std::uint16_t>(is_signed ? range / 2 - 1 : range - 1);
    auto const least = static_cast<std::uint16_t>(is_signed ? -(range / 2) : 0);
    full_scale_ = level_of(options.is_negative ? least : largest, mask_);
    threshold_ = options.least_adc();
}

void FeatureExtractor::set_up(std::size_t samples, double dt_ns) {
    if (!(dt_ns > 0) || !std::isfinite(dt_ns)) {
        base::fail_usage({fmt::format("the time from sample to sample is {} ns", dt_ns),
                          "it is not known, or makes no sense", "give it as sample-period in [features]"});
    }
    dt_ns_ = dt_ns;
    auto const most = std::max<double>(1, static_cast<double>(samples));
    box_ = static_cast<std::size_t>(std::clamp(std::round(options_.smooth_ns / dt_ns), 1.0, most));
    auto const wanted = static_cast<std::size_t>(kBlocksOfSmoothing * static_cast<double>(box_));
    shift_ = std::min(kLargestShift, static_cast<unsigned>(std::bit_width(wanted)) - 1);
    auto const of_baseline = options_.baseline_ns > 0 ? options_.baseline_ns / dt_ns : kDefaultBaseline * most;
    baseline_samples_ = static_cast<std::size_t>(std::clamp(std::round(of_baseline), 1.0, most));
    limit_ = static_cast<std::int32_t>(std::lround(threshold_ * static_cast<double>(std::size_t{1} << shift_)));
}

// The mean of those pieces that are close to the median: a pulse in a part of the baseline does not move it.
double FeatureExtractor::baseline(std::uint16_t& flags) {
    pieces_.clear();
    auto const size = std::size_t{1} << shift_;
    auto const blocks = std::min(baseline_samples_ >> shift_, sums_.size() - kRiseBlocks);
    if (blocks >= kFewestPieces) {
        auto const used = std::min(blocks, kMostPieces);
        for (std::size_t i = 0; i < used; ++i) pieces_.push_back(sums_[kRiseBlocks + i] / static_cast<double>(size));
    } else {
        auto const count = std::min(baseline_samples_, kFewestPieces);
        for (std::size_t i = 0; i < count; ++i) {
            auto const begin = baseline_samples_ * i / count, end = baseline_samples_ * (i + 1) / count;
            std::int64_t sum = 0;
            for (auto at = begin; at < end; ++at) sum += level(at);
            pieces_.push_back(static_cast<double>(sum) / static_cast<double>(end - begin));
        }
    }
    auto const [least, most] = std::minmax_element(pieces_.begin(), pieces_.end());
    if (*most - *least > threshold_) flags |= kUnsteadyBaseline;
    auto const middle = median_of(pieces_);
    auto deviations = pieces_;
    for (auto& each : deviations) each = std::abs(each - middle);
    auto const allowed = kOutlier * kDeviation * median_of(deviations);
    double sum = 0, count = 0;
    for (auto const piece : pieces_) {
        if (std::abs(piece - middle) > allowed) continue;
        sum += piece;
        ++count;
    }
    return sum / count;
}

PulseFeatures FeatureExtractor::of(std::span<std::uint16_t const> samples, double dt_ns) {
    PulseFeatures const none{.energy = std::numeric_limits<double>::quiet_NaN(), .time_ns = 0, .flags = kNoPulse};
    if (samples.size() != samples_.size() || dt_ns != dt_ns_) set_up(samples.size(), dt_ns);
    samples_ = samples;
    if (samples.empty()) return none;
    auto const blocks = samples.size() >> shift_;
    sums_.resize(kRiseBlocks + blocks);
    auto const largest = kernel_.sum_blocks(samples.data(), blocks, shift_, mask_, sums_.data() + kRiseBlocks);
    PulseFeatures found;
    base_ = baseline(found.flags);
    auto const of_block = std::lround(base_ * static_cast<double>(std::size_t{1} << shift_));
    std::fill_n(sums_.begin(), kRiseBlocks, static_cast<std::int32_t>(of_block));
    auto const rise = kernel_.find_rise(sums_.data(), kRiseBlocks, sums_.size(), limit_);
    if (rise == sums_.size()) {
        found.flags |= kNoPulse;
        return {.energy = none.energy, .time_ns = 0, .flags = found.flags};
    }
    auto const top = top_after(rise);
    auto const edge = edge_of(top);
    if (!edge.is_whole) found.flags |= kCut;
    found.time_ns = edge.position * dt_ns_;
    found.energy = integrate(edge.position, found.flags);
    if (is_saturated(largest, rise)) found.flags |= kSaturated;
    found.flags |= later_pulses(top);
    return found;
}

// The light of a pulse fluctuates like the root of its level, so a rise counts if the root of the level rises by the
// root of the threshold, and a fall likewise. These are sums of blocks.
double FeatureExtractor::rise_limit(std::int32_t from) const {
    return limit_ + 2 * std::sqrt(limit_ * above_baseline(from));
}

double FeatureExtractor::fall_limit(std::int32_t from) const {
    return 2 * std::sqrt(limit_ * above_baseline(from)) - limit_;
}

double FeatureExtractor::above_baseline(std::int32_t sum) const {
    return std::max(0.0, sum - base_ * static_cast<double>(std::size_t{1} << shift_));
}

std::size_t FeatureExtractor::top_after(std::size_t rise) const {
    auto top = rise;
    auto limit = fall_limit(sums_[top]);
    for (auto block = rise + 1; block < sums_.size(); ++block) {
        if (sums_[block] > sums_[top]) {
            top = block;
            limit = fall_limit(sums_[top]);
        } else if (sums_[top] - sums_[block] > limit) {
            break;
        }
    }
    return top;
}

// The largest average over the box in the highest block and those beside it, above the baseline.
double FeatureExtractor::height_at(std::size_t top) const {
    auto const begin = first_sample(std::max(top - 1, kRiseBlocks));
    auto const end = std::min(samples_.size(), std::max(first_sample(top + 2), begin + box_));
    std::int64_t sum = 0;
    auto largest = std::numeric_limits<std::int64_t>::min();
    for (auto at = begin; at < end; ++at) {
        sum += level(at);
        if (at - begin + 1 < box_) continue;
        largest = std::max(largest, sum);
        sum -= level(at + 1 - box_);
    }
    if (end - begin < box_) return 0;
    return static_cast<double>(largest) / static_cast<double>(box_) - base_;
}

FeatureExtractor::Edge FeatureExtractor::edge_of(std::size_t top) const {
    auto const level_there = base_ + options_.fraction * height_at(top);
    auto const of_block = level_there * static_cast<double>(std::size_t{1} << shift_);
    auto const of_box = level_there * static_cast<double>(box_);
    auto below = top; // the last block before the top that is below the level
    while (below > kRiseBlocks && sums_[below] > of_block) --below;
    auto const box_sum = [&](std::size_t last) {
        std::int64_t sum = 0;
        for (auto at = last + 1 - box_; at <= last; ++at) sum += level(at);
        return sum;
    };
    auto const most = std::min(samples_.size(), first_sample(top + 1)) - 1;
    auto last = std::clamp(std::min(first_sample(below + 2) - 1, most), box_ - 1, samples_.size() - 1);
    auto sum = box_sum(last);
    while (static_cast<double>(sum) < of_box && last < most) { // noise: the block is higher than its end
        ++last;
        sum += level(last) - level(last - box_);
    }
    auto const middle = static_cast<double>(box_ - 1) / 2;
    while (last >= box_) {
        auto const before = sum + level(last - box_) - level(last);
        if (static_cast<double>(before) < of_box) {
            auto const part =
                sum > before ? (of_box - static_cast<double>(before)) / static_cast<double>(sum - before) : 1;
            return {.position = static_cast<double>(last - 1) + std::min(part, 1.0) - middle};
        }
        sum = before;
        --last;
    }
    return {.position = static_cast<double>(last) - middle, .is_whole = false};
}

std::int64_t FeatureExtractor::sum_between(std::size_t begin, std::size_t end) const {
    auto const size = std::size_t{1} << shift_;
    auto const first = (begin + size - 1) >> shift_;
    auto const last = std::min(end >> shift_, sums_.size() - kRiseBlocks);
    std::int64_t sum = 0;
    if (first >= last) {
        for (auto at = begin; at < end; ++at) sum += level(at);
        return sum;
    }
    for (auto at = begin; at < first << shift_; ++at) sum += level(at);
    for (auto block = first; block < last; ++block) sum += sums_[kRiseBlocks + block];
    for (auto at = last << shift_; at < end; ++at) sum += level(at);
    return sum;
}

double FeatureExtractor::integrate(double position, std::uint16_t& flags) {
    auto const samples = static_cast<double>(samples_.size());
    auto const wanted_begin = std::round(position + options_.gate_begin_ns / dt_ns_);
    auto const wanted_end = std::round(position + options_.gate_end_ns / dt_ns_);
    auto const begin = std::clamp(wanted_begin, 0.0, samples), end = std::clamp(wanted_end, begin, samples);
    if (begin != wanted_begin || end != wanted_end) flags |= kCut;
    gate_end_ = static_cast<std::size_t>(end);
    auto const sum = sum_between(static_cast<std::size_t>(begin), gate_end_);
    return (static_cast<double>(sum) - base_ * (end - begin)) * dt_ns_;
}

bool FeatureExtractor::is_saturated(std::int32_t largest, std::size_t rise) const {
    auto const rest = (sums_.size() - kRiseBlocks) << shift_;
    auto const is_full = [&](std::uint16_t sample) { return level_of(sample, mask_) >= full_scale_; };
    if (largest < full_scale_ &&
        std::none_of(samples_.begin() + static_cast<std::ptrdiff_t>(rest), samples_.end(), is_full))
        return false;
    // It may be another pulse.
    auto const begin = first_sample(rise);
    auto const end = std::max(gate_end_, begin);
    return std::any_of(samples_.begin() + static_cast<std::ptrdiff_t>(begin),
                       samples_.begin() + static_cast<std::ptrdiff_t>(end), is_full);
}

std::uint16_t FeatureExtractor::later_pulses(std::size_t top) const {
    auto const end = sums_.size();
    auto least = sums_[top];
    for (auto block = top + 1; block < end;) {
        auto const near = block <= top + kRiseBlocks; // the sums before it are those of the edge
        if (!near) {
            block = kernel_.find_rise(sums_.data(), block, end, limit_);
            if (block == end) break;
            least = *std::min_element(sums_.begin() + static_cast<std::ptrdiff_t>(block - kRiseBlocks),
                                      sums_.begin() + static_cast<std::ptrdiff_t>(block));
        }
        if (sums_[block] - least > rise_limit(least)) return first_sample(block) < gate_end_ ? kPiledUp : kFollowed;
        least = std::min(least, sums_[block]);
        ++block;
    }
    return 0;
}

} // namespace thalweg::features
