#include "thalweg/source/loop_clock.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::source {
namespace {

template <typename Value> Value load(std::span<std::byte const> bytes, std::size_t index) {
    Value value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

long double as_number(std::span<std::byte const> bytes, model::Scalar scalar, std::size_t index) {
    if (scalar == model::Scalar::float64) return load<double>(bytes, index);
    if (scalar == model::Scalar::int64) return static_cast<long double>(load<std::int64_t>(bytes, index));
    return static_cast<long double>(load<std::uint64_t>(bytes, index));
}

template <typename Value> void add_to_all(std::span<std::byte> bytes, Value shift) {
    for (std::size_t i = 0; i < bytes.size() / sizeof shift; ++i) {
        auto const value = load<Value>(bytes, i) + shift;
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
}

} // namespace

LoopClock::LoopClock(std::vector<std::shared_ptr<IndexedRows const>> const& tables, std::string const& timestamp) {
    long double earliest = INFINITY;
    long double latest = -INFINITY;
    std::uint64_t count = 0;
    bool integers = false;
    for (auto const& table : tables) {
        auto const column = column_of(*table, timestamp);
        if (!column) continue;
        auto const scalar = table->columns()[*column].scalar;
        integers |= scalar != model::Scalar::float64;
        auto const bytes = table->slice(*column, 0, table->rows());
        for (std::uint64_t row = 0; row < table->rows(); ++row) {
            auto const time = as_number(bytes, scalar, row);
            if (!std::isfinite(time)) continue;
            earliest = std::min(earliest, time);
            latest = std::max(latest, time);
            ++count;
        }
    }
    if (count < 2 || latest == earliest) return;
    step_ = (latest - earliest) * static_cast<long double>(count) / static_cast<long double>(count - 1);
    if (integers) step_ = std::max(1.0L, std::floor(step_));
    THALWEG_ASSERT(step_ > 0, "time goes on from loop to loop");
}

std::optional<std::size_t> LoopClock::column_of(IndexedRows const& rows, std::string const& timestamp) {
    using model::Scalar;
    auto const& columns = rows.columns();
    auto const found =
        std::find_if(columns.begin(), columns.end(), [&](auto const& it) { return it.path == timestamp; });
    if (found == columns.end()) return {};
    auto const scalar = found->scalar;
    if (found->parent || found->values_per_item != 1 || found->role != model::Column::Role::values ||
        (scalar != Scalar::uint64 && scalar != Scalar::int64 && scalar != Scalar::float64))
        base::fail_usage(
            {fmt::format("table '{}', column '{}' cannot go on from loop to loop", rows.table().name, timestamp),
             "timestamps are one uint64, int64 or float64 a row", "name another column or loop once"});
    return static_cast<std::size_t>(found - columns.begin());
}

void LoopClock::advance(std::span<std::byte> timestamps, model::Scalar scalar, std::uint64_t loops) const {
    auto const shift = step_ * static_cast<long double>(loops);
    if (scalar == model::Scalar::float64) return add_to_all(timestamps, static_cast<double>(shift));
    // This is correct for signed types, too: the sum has the same bits, and an overflow wraps instead of being
    // undefined.
    auto const wrapped = std::fmod(shift, 0x1p64L);
    add_to_all(timestamps, static_cast<std::uint64_t>(wrapped));
}

} // namespace thalweg::source
