#include "thalweg/dataset/commit/cluster_collector.h"

#include <algorithm>

#include "thalweg/dataset/journal/page_of.h"

namespace thalweg::dataset {

void ClusterCollector::take(std::size_t table, std::span<PageRecord const> records) {
    auto const& columns = head_.columns[table];
    for (auto const& record : records) {
        bool const is_end = record.column == kClusterEnd;
        auto& cluster = open_[{record.producer, is_end ? record.first : record.cluster}];
        cluster.columns.resize(columns.size());
        if (!is_end) {
            cluster.columns[record.column].push_back(page_of(record, columns[record.column], head_.layouts[table]));
            continue;
        }
        cluster.rows = record.count;
        for (auto& pages : cluster.columns) {
            std::sort(pages.begin(), pages.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
        }
        ended_.emplace_back(table, std::move(cluster));
        open_.erase({record.producer, record.first});
    }
}

void ClusterCollector::hand_over(format::InterimMetadata& interim) {
    for (auto const& [table, cluster] : ended_) interim.add(table, cluster);
    ended_.clear();
}

} // namespace thalweg::dataset
