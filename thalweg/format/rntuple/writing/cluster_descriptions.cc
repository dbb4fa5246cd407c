#include "thalweg/format/rntuple/writing/cluster_descriptions.h"

#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/codec/root_codec.h"

namespace thalweg::format::rntuple {

ClusterDescriber::ClusterDescriber(std::vector<model::Column> const& columns, model::TableLayout const& layout) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        columns_.push_back({columns[i].values_per_item, codec::compression_settings(layout.columns[i].codec)});
    }
}

ClusterDescription ClusterDescriber::describe(std::uint64_t rows, std::span<std::span<model::Page const> const> pages) {
    THALWEG_ASSERT(pages.size() == columns_.size(), "a cluster says of each column which pages it has");
    ClusterDescription cluster{entries_, rows, {}};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto& column = columns_[i];
        ColumnRange range{{}, column.elements, column.compression, false};
        for (auto const& page : pages[i]) {
            auto const elements = page.count * column.values_per_item;
            THALWEG_ASSERT(elements <= std::numeric_limits<std::uint32_t>::max(),
                           "32 bits count the elements of a page");
            range.pages.push_back({static_cast<std::uint32_t>(elements), true, {page.offset, page.stored_bytes}});
            column.elements += elements;
        }
        cluster.columns.push_back(std::move(range));
    }
    entries_ += rows;
    return cluster;
}

std::uint64_t described_bytes(ClusterDescription const& cluster) {
    constexpr std::uint64_t kClusterBytes = 48, kColumnBytes = 24, kPageBytes = 16;
    auto bytes = kClusterBytes + kColumnBytes * cluster.columns.size();
    for (auto const& column : cluster.columns) bytes += kPageBytes * column.pages.size();
    return bytes;
}

ClusterGroup group_of(PageList const& list, EnvelopeLink const& link) {
    ClusterGroup group{0, 0, static_cast<std::uint32_t>(list.clusters.size()), link};
    if (list.clusters.empty()) return group;
    auto const& last = list.clusters.back();
    group.first_entry = list.clusters.front().first_entry;
    group.entries = last.first_entry + last.entries - group.first_entry;
    return group;
}

} // namespace thalweg::format::rntuple
