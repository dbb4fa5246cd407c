#include "thalweg/dataset/complete/missing_part.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace thalweg::dataset {
namespace {

std::string missing_of(std::uint32_t node, std::optional<FinishedPart> const& said, Gathered const& gathered) {
    auto const name = name_of_node(node);
    if (!said) return fmt::format("{} has finished, and what it says of its part cannot be read yet", name);
    auto const found = std::ranges::find(gathered.found, node, &FoundPart::node);
    if (found == gathered.found.end())
        return fmt::format("{} has finished {}, and this machine sees no journal of it", name, said->in_words());
    if (!found->part.covers(*said))
        return fmt::format("{} has finished {}, and this machine sees {}", name, said->in_words(),
                           found->part.in_words());
    return "";
}

void note_regions_of_two(Gathered const& gathered, std::vector<std::string>& missing) {
    std::map<std::uint32_t, std::uint32_t> owners;
    for (auto const& region : gathered.regions) {
        auto const [owner, is_new] = owners.try_emplace(region.region, region.node);
        if (is_new || owner->second == region.node) continue;
        missing.push_back(fmt::format("{} and {} both took region {} of the file, so that pages of one may lie over "
                                      "those of the other",
                                      name_of_node(owner->second), name_of_node(region.node), region.region));
    }
}

} // namespace

std::vector<std::string> missing_parts(PartsFolder const& parts, std::uint32_t nodes, Gathered const& gathered) {
    std::vector<std::string> missing;
    auto const names = parts.names();
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (!names.contains(finished_name(node))) continue;
        auto const text = parts.announced(finished_name(node), names);
        auto why = missing_of(node, text ? FinishedPart::from(*text) : std::nullopt, gathered);
        if (!why.empty()) missing.push_back(std::move(why));
    }
    note_regions_of_two(gathered, missing);
    return missing;
}

} // namespace thalweg::dataset
