#include "thalweg/record/pulse_producer.h"

#include <limits>

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/append/row_slices.h"
#include "thalweg/record/append_rows.h"

namespace thalweg::record {

PulseProducer::PulseProducer(dataset::Producer& producer, model::Table const& table,
                             features::FeatureRowOptions const& options)
    : producer_(producer), columns_(model::flatten(table)), rows_(table, options) {}

void PulseProducer::append(std::uint64_t rows, std::span<std::span<std::byte const> const> columns) {
    check_sizes(rows, columns);
    auto const made = rows_.take({.rows = rows, .columns = columns});
    append_rows(producer_, made.rows, made.columns, [this] { return waits_for_room_.load(); });
    auto const& counted = rows_.flag_counts();
    saturated_.add(counted.saturated);
    piled_up_.add(counted.piled_up);
    without_pulse_.add(counted.without_pulse);
}

// A producer checks the rows that it gets, but features are made before.
void PulseProducer::check_sizes(std::uint64_t rows, std::span<std::span<std::byte const> const> columns) const {
    auto const& table = producer_.table().name;
    if (columns.size() != columns_.size()) {
        base::fail_usage({fmt::format("{} columns of table '{}' were given", columns.size(), table),
                          fmt::format("it has {}", columns_.size())});
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& column = columns_[i];
        auto const items = column.parent ? dataset::sum_of(columns[*column.parent]) : rows;
        auto const is_too_large = items > std::numeric_limits<std::uint64_t>::max() / column.item_bytes();
        if (is_too_large || columns[i].size() != items * column.item_bytes()) {
            base::fail_usage(
                {fmt::format("table '{}', column '{}': {} bytes were given", table, column.path, columns[i].size()),
                 fmt::format("{} items of {} bytes are needed", items, column.item_bytes())});
        }
    }
}

} // namespace thalweg::record
