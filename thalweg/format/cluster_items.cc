#include "thalweg/format/cluster_items.h"

#include <algorithm>

namespace thalweg::format {
namespace {

constexpr std::uint64_t kLengthsAtOnce = 1 << 16;

model::RowRange items_of(std::span<model::Page const> pages) {
    if (pages.empty()) return {};
    return {pages.front().first, pages.back().first + pages.back().count - pages.front().first};
}

std::uint64_t end_before(std::span<model::Page const> pages, model::Cluster const& cluster, std::uint64_t begin) {
    auto end = begin;
    for (auto const& page : pages) {
        if (page.place == model::Page::Place::file && page.cluster < cluster.first_row) end = page.first + page.count;
    }
    return end;
}

} // namespace

std::uint64_t sum_of_lengths(ItemReader& reader, std::span<model::Page const> pages, model::Column const& column,
                             model::RowRange const& items) {
    std::vector<std::uint64_t> lengths;
    std::uint64_t sum = 0;
    for (std::uint64_t done = 0; done < items.count;) {
        auto const count = std::min(kLengthsAtOnce, items.count - done);
        lengths.resize(count * column.values_per_item);
        reader.read(pages, items.first + done, count, std::as_writable_bytes(std::span(lengths)));
        for (auto const length : lengths) sum += length;
        done += count;
    }
    return sum;
}

std::span<model::Page const> pages_of_cluster(std::span<model::Page const> pages, model::Cluster const& cluster) {
    auto const begin = std::partition_point(pages.begin(), pages.end(),
                                            [&](auto const& page) { return page.cluster < cluster.first_row; });
    auto const end =
        std::partition_point(begin, pages.end(), [&](auto const& page) { return page.cluster <= cluster.first_row; });
    std::span const pages_there(begin, end);
    auto const rows = std::find_if(begin, end, [](auto const& page) { return page.place != model::Page::Place::file; });
    return pages_there.first(static_cast<std::size_t>(rows - begin)); // what waits in the journal is of later rows
}

std::vector<model::RowRange> items_of_cluster(std::vector<model::Column> const& columns, model::Part const& part,
                                              model::Cluster const& cluster,
                                              std::span<std::optional<ItemReader>> readers,
                                              std::span<std::uint64_t const> begins) {
    std::vector<model::RowRange> items(columns.size());
    std::vector<std::uint64_t> inside(columns.size()); // elements in the cluster's lists, by lengths column
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& parent = columns[i].parent;
        if (!parent) {
            items[i] = {cluster.first_row, cluster.rows};
        } else if (cluster.whole) {
            items[i] = items_of(pages_of_cluster(part.columns[i], cluster));
        } else {
            auto const begin = begins.empty() ? 0 : begins[i];
            items[i] = {end_before(part.columns[i], cluster, begin), inside[*parent]};
        }
        if (cluster.whole || columns[i].role != model::Column::Role::lengths) continue;
        inside[i] = sum_of_lengths(*readers[i], part.columns[i], columns[i], items[i]);
    }
    return items;
}

} // namespace thalweg::format
