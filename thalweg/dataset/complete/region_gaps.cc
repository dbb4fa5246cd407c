#include "thalweg/dataset/complete/region_gaps.h"

#include <algorithm>
#include <map>

#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

// If a node died before it said what it used, its region is in use up to the last page that is known. Bytes that it
// wrote behind that do not count.
void see_pages(RegionPlan const& plan, model::RunFacts const& facts, std::map<std::uint32_t, RegionUse>& regions) {
    auto const is_open = [](auto const& each) { return !each.second.is_over; };
    if (std::ranges::none_of(regions, is_open)) return;
    std::map<std::uint64_t, RegionUse*> by_begin;
    for (auto& [number, use] : regions) by_begin[plan.region(number).begin] = &use;
    for (auto const& parts : facts.tables) {
        for (auto const& part : parts) {
            for (auto const& pages : part.columns) {
                for (auto const& page : pages) {
                    auto const found = by_begin.upper_bound(page.offset);
                    if (page.place != model::Page::Place::file || found == by_begin.begin()) continue;
                    auto& use = *std::prev(found)->second;
                    auto const end = page.offset + page.stored_bytes + sizeof(std::uint64_t); // and a checksum
                    if (!use.is_over) use.used_end = std::max(use.used_end, base::round_up(end, base::kBlockBytes));
                }
            }
        }
    }
}

} // namespace

std::vector<Gap> gaps_of(RegionPlan const& plan, std::vector<RegionUse> const& regions, model::RunFacts const& facts) {
    std::map<std::uint32_t, RegionUse> known;
    for (auto const& use : regions) known[use.region] = use;
    for (std::uint32_t number = 0; plan.region(number).begin < facts.end_offset; ++number)
        known.try_emplace(number, RegionUse{number, 0, false}); // its record may be lost, and its pages not
    see_pages(plan, facts, known);
    std::vector<Gap> gaps;
    for (std::uint32_t number = 0;; ++number) {
        auto const region = plan.region(number);
        if (region.begin >= facts.end_offset) return gaps;
        auto const begin = std::max(region.begin, known.at(number).used_end);
        auto const end = std::min(region.end, facts.end_offset);
        if (begin >= end) continue;
        if (!gaps.empty() && gaps.back().end == begin)
            gaps.back().end = end;
        else
            gaps.push_back({begin, end});
    }
}

void mark_gaps(storage::Storage& file, format::Format const& format, Gathered const& gathered, std::uint64_t end) {
    if (gathered.report.nodes.empty()) return;
    auto const nodes = static_cast<std::uint32_t>(gathered.report.nodes.size());
    auto const plan = region_plan(format, gathered.head, nodes);
    for (auto const& gap : gaps_of(plan, gathered.regions, gathered.facts)) {
        auto const bytes = std::min(gap.end, end) - std::min(gap.begin, end);
        if (bytes == 0) continue;
        file.give_back(gap.begin, bytes);
        format.write_gap(file, gap.begin, bytes);
    }
}

} // namespace thalweg::dataset
