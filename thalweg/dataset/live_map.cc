#include "thalweg/dataset/live_map.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "thalweg/format/item_reader.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kLengthsAtOnce = 1 << 16;

// Running sums of the lengths in one column of one part. Asked in ascending order.
class ElementCounter {
  public:
    ElementCounter(format::ItemReader reader, std::vector<model::Page> const& pages, std::uint64_t values_per_item)
        : reader_(std::move(reader)), pages_(pages), values_per_item_(values_per_item) {}

    // Elements in front of list `item`.
    std::uint64_t before(std::uint64_t item) {
        while (item_ < item) {
            auto const count = std::min(kLengthsAtOnce, item - item_);
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
    std::uint64_t item_ = 0;
    std::uint64_t element_ = 0;
};

class TableMapper {
  public:
    TableMapper(Gathered const& gathered, std::size_t table, storage::Storage const& file,
                storage::Storage const& journal)
        : columns_(gathered.head.columns[table]), layout_(gathered.head.layouts[table]),
          parts_(gathered.facts.tables[table]), counters_(parts_.size()), ends_(columns_.size()) {
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                std::optional<ElementCounter> counter;
                if (columns_[i].role == model::Column::Role::lengths) {
                    counter.emplace(format::ItemReader(file, journal, columns_[i], layout_.columns[i].codec,
                                                       fmt::format("column '{}'", columns_[i].path)),
                                    parts_[part].columns[i], columns_[i].values_per_item);
                }
                counters_[part].push_back(std::move(counter));
            }
        }
        map_.columns.resize(columns_.size());
    }

    model::TableMap map() {
        for (auto const& segment : model::order_of_rows(layout_, columns_, parts_)) add(segment);
        return std::move(map_);
    }

  private:
    void add(model::Segment const& segment) {
        std::vector<model::RowRange> inside(columns_.size()); // elements in the segment's lists, by lengths column
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto const& parent = columns_[i].parent;
            auto const items = parent ? inside[*parent] : model::RowRange{segment.first_row, segment.rows};
            for (auto page : model::slice(parts_[segment.part].columns[i], items.first, items.count)) {
                page.first = ends_[i];
                ends_[i] += page.count;
                map_.columns[i].pages.push_back(page);
            }
            if (auto& counter = counters_[segment.part][i]) {
                auto const first = counter->before(items.first);
                inside[i] = {first, counter->before(items.first + items.count) - first};
            }
        }
        map_.rows += segment.rows;
    }

    std::vector<model::Column> const& columns_;
    model::TableLayout const& layout_;
    std::vector<model::Part> const& parts_;
    std::vector<std::vector<std::optional<ElementCounter>>> counters_; // by part, then column
    std::vector<std::uint64_t> ends_;                                  // items so far, by column
    model::TableMap map_;
};

} // namespace

model::RunMap live_map(Gathered const& gathered, storage::Storage const& file, storage::Storage const& journal) {
    model::RunMap map{gathered.head, {}, gathered.facts.metadata};
    for (std::size_t i = 0; i < gathered.head.schema.tables.size(); ++i) {
        map.tables.push_back(TableMapper(gathered, i, file, journal).map());
    }
    return map;
}

} // namespace thalweg::dataset
