// What a caller appends: one span a column, taken piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/model/column.h"

namespace thalweg::dataset {

// Returns the sum of lengths; the largest number if the sum has no place in half of it.
std::uint64_t sum_of(std::span<std::byte const> lengths);

// Returns how many rows have about this size, and at least one.
std::uint64_t rows_for(std::span<std::span<std::byte const> const> columns, std::uint64_t rows, std::uint64_t bytes);

// What is left of the caller's spans.
struct RowSlices {
    std::vector<model::Column> const& columns;
    std::vector<std::span<std::byte const>> rest;

    // Returns the size of the first of these rows.
    std::uint64_t bytes_of(std::uint64_t rows) const;
    std::span<std::byte const> take(std::size_t column, std::uint64_t items);
};

} // namespace thalweg::dataset
