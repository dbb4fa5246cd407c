#include "thalweg/dataset/complete/cluster_keeper.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace thalweg::dataset {
namespace {

constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();

} // namespace

ClusterKeeper::ClusterKeeper(ProducerFacts const& producer, std::vector<model::Column> const& columns,
                             model::Part const& part, std::string const& table, Ranges const& counted)
    : producer_(producer), columns_(columns), part_(part), table_(table) {
    std::map<std::uint64_t, std::uint64_t> pages; // by cluster
    for (auto const& column : part.columns) {
        for (auto const& page : column) {
            if (page.place == Page::Place::file) ++pages[page.cluster];
        }
    }
    for (auto const& [first, cluster] : producer.ended) {
        if (pages[first] == cluster.pages && contains(counted, first, cluster.rows))
            whole_.push_back({first, cluster.rows, cluster.order, true});
    }
    for (; in_front_ < whole_.size() && whole_[in_front_].first_row == begin_; ++in_front_) {
        begin_ += whole_[in_front_].rows;
    }
    end_ = in_front_ < whole_.size() ? whole_[in_front_].first_row : kLast;
    auto const last = std::find_if(counted.begin(), counted.end(), [&](auto const& range) {
        return range.first <= begin_ && begin_ < range.first + range.count;
    });
    end_ = std::min(end_, last == counted.end() ? begin_ : last->first + last->count);
}

std::vector<model::Cluster> ClusterKeeper::keep(FindWhole const& find_whole, std::vector<std::string>& notes) const {
    auto clusters = whole_;
    if (begin_ < end_) keep_rest(find_whole, clusters);
    note_left_out(clusters, notes);
    return clusters;
}

void ClusterKeeper::keep_rest(FindWhole const& find_whole, std::vector<model::Cluster>& clusters) const {
    model::Part rest;
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto const& pages = part_.columns[i];
        auto const first_of = [&](std::uint64_t row) {
            return std::partition_point(pages.begin(), pages.end(),
                                        [&](auto const& page) { return page.cluster < row; });
        };
        auto first = first_of(begin_);
        // Rows in the journal count with the pages in front of them.
        while (first != pages.begin() && (first - 1)->place == Page::Place::journal) --first;
        rest.columns.emplace_back(first, first_of(end_));
        auto const before = first == pages.begin() ? 0 : (first - 1)->first + (first - 1)->count;
        starts.push_back(columns_[i].parent ? before : begin_);
    }
    for (auto const& range : find_whole(rest, starts)) {
        auto const range_end = std::min(range.first + range.count, end_);
        if (range.first > begin_ || range_end <= begin_) continue;
        auto const order = in_front_ < whole_.size() ? whole_[in_front_].order : kLast; // right in front of that one
        clusters.insert(clusters.begin() + static_cast<std::ptrdiff_t>(in_front_),
                        {begin_, range_end - begin_, order, false});
        return;
    }
}

void ClusterKeeper::note_left_out(std::vector<model::Cluster> const& kept, std::vector<std::string>& notes) const {
    Ranges there, missing;
    for (auto const& cluster : kept) append_range(there, cluster.first_row, cluster.rows);
    for (auto const& [first, cluster] : producer_.ended) {
        auto from = first;
        for (auto const& range : intersect(there, {{first, cluster.rows}})) {
            append_range(missing, from, range.first - from);
            from = range.first + range.count;
        }
        append_range(missing, from, first + cluster.rows - from);
    }
    // Behind a gap nobody knows which elements the rows begin with that are in no ended cluster.
    auto const last =
        producer_.ended.empty() ? 0 : producer_.ended.rbegin()->first + producer_.ended.rbegin()->second.rows;
    bool const lost =
        in_front_ < whole_.size() && !producer_.of_units && producer_.finish && producer_.finish->rows > last;
    if (lost) append_range(missing, last, producer_.finish->rows - last);
    for (auto const& rows : missing) {
        notes.push_back(
            fmt::format("table '{}': rows {} to {} of producer {} are left out (pages of their cluster, or in "
                        "front of it, are missing)",
                        table_, rows.first, rows.first + rows.count, part_.producer));
    }
}

} // namespace thalweg::dataset
