#include "thalweg/model/page.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

// The distinct page sizes of the row-counting columns, largest first.
std::set<std::uint64_t, std::greater<>> row_steps(TableLayout const& layout, std::vector<Column> const& columns) {
    std::set<std::uint64_t, std::greater<>> steps{layout.block_rows};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].parent) steps.insert(layout.columns[i].page_items);
    }
    return steps;
}

// Whether each range begins behind the one before it.
template <typename Range> bool are_ordered(std::vector<Range> const& ranges) {
    auto const overlaps = [](Range const& a, Range const& b) { return b.first < a.first + a.count; };
    return std::ranges::adjacent_find(ranges, overlaps) == ranges.end();
}

bool is_ordered(Part const& part) {
    return are_ordered(part.rows) && std::ranges::all_of(part.columns, are_ordered<Page>);
}

} // namespace

std::vector<Segment> order_of_rows(TableLayout const& layout, std::vector<Column> const& columns,
                                   std::span<Part const> parts) {
    std::vector<Segment> segments;
    std::vector<RowRange> rest(parts.size());
    auto const append = [&](std::size_t part, RowRange const& rows) {
        if (rows.count > 0) segments.push_back({part, rows.first, rows.count});
    };
    for (std::size_t part = 0; part < parts.size(); ++part) {
        THALWEG_ASSERT_COSTLY(is_ordered(parts[part]), "rows and pages of a producer are in order and do not overlap");
        for (auto const& rows : parts[part].rows) {
            auto const whole = rows.count / layout.block_rows * layout.block_rows;
            append(part, {rows.first, whole});
            if (whole < rows.count) rest[part] = {rows.first + whole, rows.count - whole};
        }
    }
    for (auto const step : row_steps(layout, columns)) {
        for (std::size_t part = 0; part < parts.size(); ++part) {
            auto const whole = rest[part].count / step * step;
            append(part, {rest[part].first, whole});
            rest[part] = {rest[part].first + whole, rest[part].count - whole};
        }
    }
    for (std::size_t part = 0; part < parts.size(); ++part) append(part, rest[part]);
    return segments;
}

std::vector<PlacedCluster> order_of_clusters(std::span<Part const> parts) {
    std::vector<PlacedCluster> clusters;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        for (auto const& cluster : parts[part].clusters) clusters.push_back({part, cluster});
    }
    std::stable_sort(clusters.begin(), clusters.end(),
                     [](auto const& a, auto const& b) { return a.cluster.order < b.cluster.order; });
    return clusters;
}

std::vector<Page> slice(std::span<Page const> pages, std::uint64_t first, std::uint64_t count) {
    std::vector<Page> pieces;
    auto const end = first + count;
    auto page = std::upper_bound(pages.begin(), pages.end(), first,
                                 [](std::uint64_t item, Page const& each) { return item < each.first + each.count; });
    for (auto item = first; item < end; ++page) {
        if (page == pages.end() || page->first > item) {
            base::fail_data({fmt::format("items {} to {} are missing", item, end), "no page holds them"});
        }
        Page piece = *page;
        auto const cut = item - page->first;
        piece.first = item;
        piece.skip += cut;
        piece.count = std::min(end - item, page->count - cut);
        item += piece.count;
        pieces.push_back(piece);
    }
    return pieces;
}

} // namespace thalweg::model
