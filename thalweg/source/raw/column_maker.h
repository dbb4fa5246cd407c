// Makes columns from rows, each column by a maker of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/source/raw/framing.h"
#include "thalweg/source/raw/row.h"

namespace thalweg::source::raw {

// Rows in memory: with frames if their sizes differ, or if they do not lie one behind the other.
struct Rows {
    std::byte const* base = nullptr;
    std::size_t count = 0;
    std::size_t stride = 0;
    Frame const* frames = nullptr;

    std::byte const* at(std::size_t row) const { return base + (frames ? frames[row].offset : row * stride); }

    // Calls `visit(place of a row, its index)` for each row.
    template <typename Visit> void each(Visit const& visit) const {
        if (frames)
            for (std::size_t i = 0; i < count; ++i) visit(base + frames[i].offset, i);
        else
            for (std::size_t i = 0; i < count; ++i) visit(base + i * stride, i);
    }
};

class ColumnMaker {
  public:
    virtual ~ColumnMaker() = default;
    // Returns the bytes of the column. They stay until the next call, and as long as the rows stay.
    virtual std::span<std::byte const> make(Rows const& rows) = 0;
};

// Returns one maker for each column of model::flatten(table_of(row)), in their order.
std::vector<std::unique_ptr<ColumnMaker>> column_makers(Row const& row, RowShape const& shape);

// Calls `visit.operator()<Integer>()` with the unsigned type of so many bytes.
template <typename Visit> void with_unsigned(std::size_t bytes, Visit const& visit) {
    switch (bytes) {
    case 1:
        return visit.template operator()<std::uint8_t>();
    case 2:
        return visit.template operator()<std::uint16_t>();
    case 4:
        return visit.template operator()<std::uint32_t>();
    default:
        return visit.template operator()<std::uint64_t>();
    }
}

// Reverses the bytes of each number of `width` bytes.
void swap_bytes(std::byte* numbers, std::size_t size_bytes, std::size_t width);

} // namespace thalweg::source::raw
