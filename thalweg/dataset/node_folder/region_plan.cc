#include "thalweg/dataset/node_folder/region_plan.h"

#include <algorithm>
#include <bit>

#include "thalweg/base/units.h"
#include "thalweg/storage/storage.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kSmallestBytes = 16 * base::kMiB; // a multiple of any stripe that file systems have
constexpr std::uint64_t kLargestBytes = 256 * base::kMiB;
constexpr std::uint64_t kExtentsInRegion = 4; // at least: what does not fit at its end is lost

// A page at least, or what a producer gathers, with its last page.
std::uint64_t largest_extent(model::RunHead const& head, std::uint64_t extent_bytes) {
    std::uint64_t page_bytes = 0;
    for (std::size_t table = 0; table < head.columns.size(); ++table) {
        for (std::size_t i = 0; i < head.columns[table].size(); ++i) {
            auto const& column = head.columns[table][i];
            page_bytes = std::max(page_bytes, head.layouts[table].columns[i].page_items * column.item_bytes());
        }
    }
    return std::max(extent_bytes + base::kMiB, page_bytes + base::kBlockBytes);
}

} // namespace

RegionPlan::RegionPlan(std::uint64_t first_offset, std::uint32_t nodes, std::uint64_t largest_extent_bytes,
                       std::uint64_t allocate_ahead_bytes)
    : first_offset_(base::round_up(first_offset, base::kBlockBytes)), nodes_(nodes) {
    auto const ahead = std::bit_floor(std::max<std::uint64_t>(1, allocate_ahead_bytes));
    smallest_bytes_ = std::max(std::min(kSmallestBytes, ahead), std::bit_ceil(largest_extent_bytes * kExtentsInRegion));
    auto const largest = std::max(std::min(kLargestBytes, ahead), smallest_bytes_);
    doublings_ = static_cast<std::uint32_t>(std::countr_zero(largest / smallest_bytes_));
}

Region RegionPlan::region(std::uint32_t number) const {
    auto const round = std::min<std::uint64_t>(number / nodes_, doublings_);
    auto const in_front = nodes_ * smallest_bytes_ * ((std::uint64_t{1} << round) - 1); // of all smaller ones
    auto const size = smallest_bytes_ << round;
    auto const begin = in_front + (number - round * nodes_) * size;
    return {number, std::clamp(first_offset_, begin, begin + size), begin + size};
}

RegionPlan region_plan(format::Format const& format, model::RunHead const& head, std::uint32_t nodes) {
    tuning::Tuning tuning;
    for (auto const* const name : {"extent_bytes", "allocate_ahead_bytes"}) {
        if (auto const known = head.knobs.find(name); known != head.knobs.end())
            tuning::set(tuning, name, known->second);
    }
    auto const beginning = storage::make_memory_storage("the beginning of " + head.id);
    return {format.begin(*beginning, head), nodes, largest_extent(head, tuning.write.extent_bytes),
            tuning.commit.allocate_ahead_bytes};
}

} // namespace thalweg::dataset
