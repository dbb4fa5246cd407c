#include "thalweg/source/indexed_rows.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::source {
namespace {

std::uint64_t length_at(std::vector<std::byte> const& lengths, std::uint64_t item) {
    std::uint64_t length;
    std::memcpy(&length, lengths.data() + item * sizeof length, sizeof length);
    return length;
}

} // namespace

IndexedRows::IndexedRows(RowSet rows) : rows_(std::move(rows)), columns_(model::flatten(rows_.table)) {
    if (rows_.columns.size() != columns_.size())
        base::fail_usage({fmt::format("table '{}' is given with {} columns", table().name, rows_.columns.size()),
                          fmt::format("its fields make {}", columns_.size())});
    first_items_.resize(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) index(i);
}

// A list's lengths come before what is inside it, so they are already checked here.
void IndexedRows::index(std::size_t column) {
    auto const& it = columns_[column];
    auto const items = rows_.columns[column].size() / it.item_bytes();
    auto const fail = [&](std::uint64_t expected) {
        base::fail_usage(
            {fmt::format("table '{}', column '{}' has {} bytes", table().name, it.path, rows_.columns[column].size()),
             fmt::format("there should be {} items of {} bytes", expected, it.item_bytes())});
    };
    auto expected = rows();
    if (it.parent) {
        auto const& lengths = rows_.columns[*it.parent];
        std::uint64_t item = 0;
        expected = 0;
        for (std::uint64_t row = 0; row <= rows(); ++row) {
            for (; item < first_item(*it.parent, row); ++item) {
                auto const length = length_at(lengths, item);
                if (length > items - expected) fail(expected + length);
                expected += length;
            }
            first_items_[column].push_back(expected);
        }
    }
    if (items != expected || items * it.item_bytes() != rows_.columns[column].size()) fail(expected);
}

std::uint64_t IndexedRows::bytes() const {
    std::uint64_t sum = 0;
    for (auto const& column : rows_.columns) sum += column.size();
    return sum;
}

std::span<std::byte const> IndexedRows::slice(std::size_t column, std::uint64_t first_row, std::uint64_t rows) const {
    THALWEG_ASSERT(first_row + rows <= this->rows(), "a slice lies within its rows");
    auto const item_bytes = columns_[column].item_bytes();
    auto const begin = first_item(column, first_row) * item_bytes;
    return std::span(rows_.columns[column]).subspan(begin, first_item(column, first_row + rows) * item_bytes - begin);
}

} // namespace thalweg::source
