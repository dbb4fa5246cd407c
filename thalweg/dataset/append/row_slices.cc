#include "thalweg/dataset/append/row_slices.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace thalweg::dataset {
namespace {

std::uint64_t checked_sum_of(std::span<std::byte const> lengths) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < lengths.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t length;
        std::memcpy(&length, lengths.data() + at, sizeof length);
        if (length > std::numeric_limits<std::uint64_t>::max() / 2 - sum)
            return std::numeric_limits<std::uint64_t>::max();
        sum += length;
    }
    return sum;
}

} // namespace

// Lengths are mostly far too small to overflow: one look at all of them together lets the loop be vectorised.
std::uint64_t sum_of(std::span<std::byte const> lengths) {
    constexpr std::uint64_t kFew = 1ull << 23, kSmall = 1ull << 39;
    auto const count = lengths.size() / sizeof(std::uint64_t);
    std::uint64_t sum = 0, bits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t length;
        std::memcpy(&length, lengths.data() + i * sizeof length, sizeof length);
        sum += length;
        bits |= length;
    }
    return count <= kFew && bits < kSmall ? sum : checked_sum_of(lengths);
}

std::uint64_t rows_for(std::span<std::span<std::byte const> const> columns, std::uint64_t rows, std::uint64_t bytes) {
    std::uint64_t total = 0;
    for (auto const& column : columns) total += column.size();
    return total <= bytes ? rows : std::max<std::uint64_t>(1, bytes / (total / rows + 1));
}

std::uint64_t RowSlices::bytes_of(std::uint64_t rows) const {
    std::vector<std::uint64_t> inner(columns.size()); // items in the lists of each lengths column
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const first =
            rest[i].first((columns[i].parent ? inner[*columns[i].parent] : rows) * columns[i].item_bytes());
        if (columns[i].role == model::Column::Role::lengths) inner[i] = sum_of(first);
        bytes += first.size();
    }
    return bytes;
}

std::span<std::byte const> RowSlices::take(std::size_t column, std::uint64_t items) {
    auto const bytes = rest[column].first(items * columns[column].item_bytes());
    rest[column] = rest[column].subspan(bytes.size());
    return bytes;
}

} // namespace thalweg::dataset
