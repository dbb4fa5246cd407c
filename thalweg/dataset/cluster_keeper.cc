#include "thalweg/dataset/cluster_keeper.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace thalweg::dataset {

ClusterKeeper::ClusterKeeper(ProducerFacts const& producer, model::Part const& part, std::string const& table)
    : producer_(producer), part_(part), table_(table) {
    for (auto const& column : part.columns) {
        for (auto const& page : column) {
            if (page.place == Page::Place::file) ++pages_[page.cluster];
        }
    }
}

std::vector<model::Cluster> ClusterKeeper::ended(std::vector<std::string>& notes) {
    std::vector<model::Cluster> kept;
    for (auto const& [first, cluster] : producer_.ended) {
        damaged_ = damaged_ || first != end_;
        end_ = first + cluster.rows;
        if (pages_[first] == cluster.pages) {
            kept.push_back({first, cluster.rows, cluster.order, true});
            continue;
        }
        damaged_ = true;
        notes.push_back(fmt::format("table '{}': rows {} to {} of producer {} are left out (pages of that cluster are "
                                    "missing)",
                                    table_, first, end_, part_.producer));
    }
    return kept;
}

bool ClusterKeeper::has_rest() const { return !damaged_ && (!producer_.finish || producer_.finish->rows > end_); }

std::pair<model::Part, std::vector<std::uint64_t>>
ClusterKeeper::rest(std::vector<model::Column> const& columns) const {
    model::Part rest;
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& pages = part_.columns[i];
        auto const behind =
            std::partition_point(pages.begin(), pages.end(), [&](auto const& page) { return page.cluster < end_; });
        rest.columns.emplace_back(behind, pages.end());
        auto const before = behind == pages.begin() ? 0 : (behind - 1)->first + (behind - 1)->count;
        starts.push_back(columns[i].parent ? before : end_);
    }
    return {rest, starts};
}

std::optional<model::Cluster> ClusterKeeper::last(Ranges const& whole) const {
    auto constexpr kLast = std::numeric_limits<std::uint64_t>::max();
    for (auto const& range : whole) {
        auto const range_end = std::min(range.first + range.count, producer_.finish ? producer_.finish->rows : kLast);
        if (range.first <= end_ && range_end > end_) return model::Cluster{end_, range_end - end_, kLast, false};
    }
    return std::nullopt;
}

} // namespace thalweg::dataset
