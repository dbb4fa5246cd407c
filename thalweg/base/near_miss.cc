#include "thalweg/base/near_miss.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace thalweg::base {

std::size_t edit_distance(std::string_view left, std::string_view right) {
    // Rows of the usual table: the distances of left's first i characters from each beginning of right.
    std::vector<std::size_t> before_last;
    std::vector<std::size_t> last(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::vector<std::size_t> row(right.size() + 1, i);
        for (std::size_t j = 1; j <= right.size(); ++j) {
            auto const replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        before_last = std::exchange(last, std::move(row));
    }
    return last.back();
}

std::vector<std::string_view> near_misses(std::string_view name, std::span<std::string_view const> known) {
    constexpr std::size_t kMost = 3;
    constexpr std::size_t kLeastPart = 4; // shorter pieces are in too many names
    std::vector<std::pair<std::size_t, std::string_view>> near;
    for (auto const each : known) {
        auto const distance = edit_distance(name, each);
        bool const is_part = name.size() >= kLeastPart && each.find(name) != std::string_view::npos;
        if (is_part || distance <= std::max<std::size_t>(1, each.size() / 3)) near.emplace_back(distance, each);
    }
    std::stable_sort(near.begin(), near.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    if (near.size() > kMost) near.resize(kMost);
    std::vector<std::string_view> names;
    names.reserve(near.size());
    for (auto const& [distance, each] : near) names.push_back(each);
    return names;
}

std::string suggest(std::string_view name, std::span<std::string_view const> known) {
    auto const near = near_misses(name, known);
    if (near.empty()) return fmt::format("there are {}", fmt::join(known, ", "));
    return fmt::format("did you mean '{}'?", fmt::join(near, "' or '"));
}

} // namespace thalweg::base
