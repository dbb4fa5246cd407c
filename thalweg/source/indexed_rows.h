#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/model/column.h"
#include "thalweg/source/replay.h"

namespace thalweg::source {

// A row set that fits its table, and where each row begins in each column.
class IndexedRows {
  public:
    // Throws base::UsageError, which names table and column.
    explicit IndexedRows(RowSet rows);

    model::Table const& table() const { return rows_.table; }
    std::uint64_t rows() const { return rows_.rows; }
    std::uint64_t bytes() const;
    std::vector<model::Column> const& columns() const { return columns_; }
    std::span<std::byte const> slice(std::size_t column, std::uint64_t first_row, std::uint64_t rows) const;

  private:
    std::uint64_t first_item(std::size_t column, std::uint64_t row) const {
        return first_items_[column].empty() ? row : first_items_[column][row];
    }
    void index(std::size_t column);

    RowSet rows_;
    std::vector<model::Column> columns_;
    std::vector<std::vector<std::uint64_t>> first_items_; // for every row and the end; empty: items are rows
};

} // namespace thalweg::source
