#include "thalweg/dataset/read/live_map.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/format/cluster_items.h"
#include "thalweg/format/item_reader.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kLengthsReadAtOnce = 1 << 16;

// Running sums of the lengths in one column of one part. Asked in ascending order.
class ElementCounter {
  public:
    // The pages begin with list `item`, and its elements with `element`.
    ElementCounter(format::ItemReader reader, std::vector<model::Page> const& pages, std::uint64_t values_per_item,
                   std::uint64_t item, std::uint64_t element)
        : reader_(std::move(reader)), pages_(pages), values_per_item_(values_per_item), item_(item), element_(element) {
    }

    // Elements in front of list `item`.
    std::uint64_t before(std::uint64_t item) {
        THALWEG_ASSERT(item >= item_, "lists are asked for in ascending order");
        while (item_ < item) {
            auto const count = std::min(kLengthsReadAtOnce, item - item_);
            lengths_.resize(count * values_per_item_);
            reader_.read(pages_, item_, count, std::as_writable_bytes(std::span(lengths_)));
            for (auto const length : lengths_) element_ += length;
            item_ += count;
        }
        return element_;
    }

  private:
    format::ItemReader reader_;
    std::vector<model::Page> const& pages_;
    std::uint64_t values_per_item_;
    std::vector<std::uint64_t> lengths_;
    std::uint64_t item_;
    std::uint64_t element_;
};

class TableMapper {
  public:
    TableMapper(Gathered const& gathered, std::size_t table, storage::Storage const& file,
                storage::Storage const& journal)
        : columns_(gathered.head.columns[table]), layout_(gathered.head.layouts[table]),
          parts_(gathered.facts.tables[table]), begins_(gathered.begins), file_(file), journal_(journal),
          ends_(columns_.size()) {
        map_.columns.resize(columns_.size());
    }

    model::TableMap map() {
        layout_.cluster_bytes > 0 ? add_clusters() : add_segments();
        for (std::size_t i = 0; i < columns_.size(); ++i)
            THALWEG_ASSERT(columns_[i].parent || ends_[i] == map_.rows, "a column of rows has an item for each row");
        return std::move(map_);
    }

  private:
    format::ItemReader reader_of(std::size_t column) const {
        return {file_, journal_, columns_[column], layout_.columns[column].codec,
                fmt::format("column '{}'", columns_[column].path)};
    }

    // By column; empty: 0.
    std::span<std::uint64_t const> begins_of(std::size_t part) const {
        auto const found = begins_.find(parts_[part].producer);
        return found == begins_.end() ? std::span<std::uint64_t const>() : found->second;
    }
    std::uint64_t begin_of(std::size_t part, std::size_t column) const {
        auto const begins = begins_of(part);
        return begins.empty() ? 0 : begins[column];
    }
    std::uint64_t first_element(std::size_t part, std::size_t lengths) const {
        auto const inside = std::ranges::find(columns_, std::optional(lengths), &model::Column::parent);
        return begin_of(part, static_cast<std::size_t>(inside - columns_.begin()));
    }

    void add_clusters() {
        for (auto const& [part, cluster] : model::order_of_clusters(parts_)) {
            std::vector<std::optional<format::ItemReader>> readers(columns_.size());
            for (std::size_t i = 0; i < columns_.size() && !cluster.whole; ++i) {
                if (columns_[i].role == model::Column::Role::lengths) readers[i].emplace(reader_of(i));
            }
            auto const items = format::items_of_cluster(columns_, parts_[part], cluster, readers, begins_of(part));
            for (std::size_t i = 0; i < columns_.size(); ++i) add_pages(part, i, items[i], cluster.whole);
            map_.rows += cluster.rows;
        }
    }

    void add_segments() {
        std::vector<std::vector<std::optional<ElementCounter>>> counters(parts_.size()); // by part, then column
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            counters[part].resize(columns_.size());
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                if (columns_[i].role != model::Column::Role::lengths) continue;
                counters[part][i].emplace(reader_of(i), parts_[part].columns[i], columns_[i].values_per_item,
                                          begin_of(part, i), first_element(part, i));
            }
        }
        for (auto const& segment : model::order_of_rows(layout_, columns_, parts_)) {
            add(segment, counters[segment.part]);
        }
    }

    void add(model::Segment const& segment, std::vector<std::optional<ElementCounter>>& counters) {
        std::vector<model::RowRange> inside(columns_.size()); // elements in the segment's lists, by lengths column
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto const& parent = columns_[i].parent;
            auto const items = parent ? inside[*parent] : model::RowRange{segment.first_row, segment.rows};
            add_pages(segment.part, i, items, false);
            if (auto& counter = counters[i]) {
                auto const first = counter->before(items.first);
                inside[i] = {first, counter->before(items.first + items.count) - first};
            }
        }
        map_.rows += segment.rows;
    }

    // Only within a whole cluster do sums tell where elements lie; others may be of several of the producer's clusters.
    void add_pages(std::size_t part, std::size_t column, model::RowRange const& items, bool whole_cluster) {
        for (auto page : model::slice(parts_[part].columns[column], items.first, items.count)) {
            page.first = ends_[column];
            page.cluster = map_.rows;
            if (whole_cluster) page.sum_before.reset();
            ends_[column] += page.count;
            map_.columns[column].pages.push_back(page);
        }
    }

    std::vector<model::Column> const& columns_;
    model::TableLayout const& layout_;
    std::vector<model::Part> const& parts_;
    std::map<std::uint32_t, std::vector<std::uint64_t>> const& begins_; // by producer
    storage::Storage const& file_;
    storage::Storage const& journal_;
    std::vector<std::uint64_t> ends_; // items so far, by column
    model::TableMap map_;
};

} // namespace

model::RunMap live_map(Gathered const& gathered, storage::Storage const& file, storage::Storage const& journal) {
    model::RunMap map{gathered.head, {}, gathered.facts.metadata, false};
    for (std::size_t i = 0; i < gathered.head.schema.tables.size(); ++i) {
        map.tables.push_back(TableMapper(gathered, i, file, journal).map());
    }
    return map;
}

} // namespace thalweg::dataset
