#include "thalweg/dataset/complete/cluster_keeper.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {
namespace {

constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();

} // namespace

ClusterKeeper::ClusterKeeper(ProducerFacts const& producer, std::vector<model::Column> const& columns,
                             model::Part const& part, std::string const& table, Ranges const& counted)
    : producer_(producer), columns_(columns), part_(part), table_(table), counted_(counted) {
    std::map<std::uint64_t, std::uint64_t> pages; // by cluster
    for (auto const& column : part.columns) {
        for (auto const& page : column) {
            if (page.place == Page::Place::file) ++pages[page.cluster];
        }
    }
    for (auto const& [first, cluster] : producer.ended) {
        if (pages[first] == cluster.pages && contains(counted, first, cluster.rows))
            whole_.push_back({first, cluster.rows, cluster.order, true, cluster.by_age});
    }
}

// From one stretch of rows that no whole cluster holds to the next, as long as each is there up to the cluster behind.
std::vector<model::Cluster> ClusterKeeper::keep(FindWhole const& find_whole, std::vector<std::string>& notes) const {
    std::vector<model::Cluster> clusters;
    auto row = producer_.seen.rows;
    auto next = whole_.begin();
    for (bool has_gap = false; !has_gap;) {
        for (; next != whole_.end() && next->first_row == row; ++next) {
            clusters.push_back(*next);
            row += next->rows;
        }
        auto const end = next == whole_.end() ? kLast : next->first_row;
        auto const rows = rows_there(find_whole, {row, end - row}, clusters);
        THALWEG_ASSERT(rows <= end - row, "the rest in front of a whole cluster ends there");
        auto const order = next == whole_.end() ? kLast : next->order; // right in front of that one
        if (rows > 0) clusters.push_back({row, rows, order, false});
        row += rows;
        has_gap = row != end;
    }
    bool const is_behind_gap = next != whole_.end();
    clusters.insert(clusters.end(), next, whole_.end());
    note_left_out(clusters, is_behind_gap, notes);
    return clusters;
}

// How many of these rows are there, from the first on; `in_front`: the clusters in front of them.
std::uint64_t ClusterKeeper::rows_there(FindWhole const& find_whole, model::RowRange rows,
                                        std::vector<model::Cluster> const& in_front) const {
    auto const within = intersect(counted_, {rows});
    if (within.empty() || within.front().first != rows.first) return 0;
    auto const begin = rows.first, end = begin + within.front().count;
    bool const has_rest_in_front =
        std::any_of(in_front.begin(), in_front.end(), [](auto const& each) { return !each.whole; });
    model::Part rest;
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto const& pages = part_.columns[i];
        auto const first_of = [&](std::uint64_t row) {
            return std::partition_point(pages.begin(), pages.end(),
                                        [&](auto const& page) { return page.cluster < row; });
        };
        auto first = first_of(begin);
        // Rows in the journal count with the pages in front of them.
        while (first != pages.begin() && (first - 1)->place == Page::Place::journal) --first;
        // Elements in the journal may belong to rows further in front if the cluster between has none of its own.
        bool const is_of_these = first != pages.begin() && (first - 1)->cluster == in_front.back().first_row;
        if (has_rest_in_front && columns_[i].parent && !is_of_these) return 0;
        rest.columns.emplace_back(first, first_of(end));
        auto const before = first == pages.begin() ? producer_.seen.items[i] : (first - 1)->first + (first - 1)->count;
        starts.push_back(columns_[i].parent ? before : begin);
    }
    for (auto const& range : find_whole(rest, starts)) {
        auto const range_end = std::min(range.first + range.count, end);
        if (range.first <= begin && range_end > begin) return range_end - begin;
    }
    return 0;
}

void ClusterKeeper::note_left_out(std::vector<model::Cluster> const& kept, bool is_behind_gap,
                                  std::vector<std::string>& notes) const {
    Ranges there, missing;
    for (auto const& cluster : kept) append_range(there, cluster.first_row, cluster.rows);
    for (auto const& [first, cluster] : producer_.ended) {
        auto const all = Ranges{{first, cluster.rows}};
        // Rows of work units that do not count are not missing: the report names the units instead.
        for (auto const& wanted : producer_.of_units ? intersect(counted_, all) : all) {
            auto from = wanted.first;
            for (auto const& range : intersect(there, {wanted})) {
                append_range(missing, from, range.first - from);
                from = range.first + range.count;
            }
            append_range(missing, from, wanted.first + wanted.count - from);
        }
    }
    // Behind a gap it is not known with which elements those rows begin that are in no ended cluster.
    auto const last =
        producer_.ended.empty() ? 0 : producer_.ended.rbegin()->first + producer_.ended.rbegin()->second.rows;
    bool const lost = is_behind_gap && !producer_.of_units && producer_.finish && producer_.finish->rows > last;
    if (lost) append_range(missing, last, producer_.finish->rows - last);
    for (auto const& rows : missing) {
        notes.push_back(
            fmt::format("table '{}': rows {} to {} of producer {} are left out (pages of their cluster, or in "
                        "front of it, are missing)",
                        table_, rows.first, rows.first + rows.count, part_.producer));
    }
}

} // namespace thalweg::dataset
