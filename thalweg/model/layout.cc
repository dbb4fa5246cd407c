#include "thalweg/model/layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

constexpr std::uint64_t kWideItemBytes = 1024;
constexpr std::uint64_t kMinBlockPages = 64; // of the widest column: narrow pages of a few rows would be slow to read
constexpr std::uint64_t kMaxPageBytes = std::numeric_limits<std::uint32_t>::max();

bool is_wide(Column const& column) { return column.item_bytes() >= kWideItemBytes; }

// Items of a page of about `target_bytes`: a multiple of 8 where it can be. Bitshuffle works on eights, and JSROOT
// reads bools wrongly behind a page that does not end with a whole byte.
std::uint64_t items_for(std::uint64_t item_bytes, std::uint64_t target_bytes) {
    auto const items = std::max<std::uint64_t>(1, target_bytes / item_bytes);
    return items >= 8 ? items / 8 * 8 : items;
}

// The largest base * 2^k within the limit; at least base.
std::uint64_t doubled_up_to(std::uint64_t base, std::uint64_t limit) {
    auto items = base;
    while (items * 2 <= limit) items *= 2;
    return items;
}

struct Targets {
    std::uint64_t wide_bytes;
    std::uint64_t narrow_bytes;
    std::uint64_t block_bytes;

    std::uint64_t of(Column const& column) const { return is_wide(column) ? wide_bytes : narrow_bytes; }
};

std::vector<std::uint64_t> page_items(std::vector<Column> const& columns, Targets const& targets) {
    std::uint64_t widest_bytes = 0;
    std::uint64_t row_bytes = 0;
    for (auto const& column : columns) {
        if (column.parent) continue;
        widest_bytes = std::max(widest_bytes, column.item_bytes());
        row_bytes += column.item_bytes();
    }
    auto const widest_target = widest_bytes >= kWideItemBytes ? targets.wide_bytes : targets.narrow_bytes;
    auto const base_rows = items_for(widest_bytes, widest_target);
    std::vector<std::uint64_t> items;
    for (auto const& column : columns) {
        auto const target = targets.of(column);
        auto const block = std::max(targets.block_bytes / row_bytes, base_rows * kMinBlockPages);
        auto const limit = std::min(target / column.item_bytes(), block);
        items.push_back(column.parent ? items_for(column.item_bytes(), target) : doubled_up_to(base_rows, limit));
    }
    return items;
}

// Without pages of one item: smaller targets would not make them smaller.
std::uint64_t total_bytes(std::vector<Column> const& columns, std::vector<std::uint64_t> const& items) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (items[i] > 1) total += items[i] * columns[i].item_bytes();
    }
    return total;
}

void check_items(std::vector<Column> const& columns) {
    for (auto const& column : columns) {
        if (column.item_bytes() <= kMaxPageBytes) continue;
        base::fail_usage({fmt::format("field '{}' cannot be stored", column.path),
                          fmt::format("one item has {} bytes, a page at most 4 GiB", column.item_bytes()),
                          "split it, or use a list"});
    }
}

Targets targets_of(LayoutOptions const& options) {
    return {std::min(options.wide_page_bytes, kMaxPageBytes),
            std::min(options.narrow_page_bytes.value_or(kNarrowPageBytes), kMaxPageBytes), options.block_bytes};
}

std::string codec_of(Column const& column, LayoutOptions const& options) {
    auto const& codec = is_wide(column) ? options.wide_codec : options.narrow_codec;
    return codec.empty() ? kCodec : codec;
}

} // namespace

TableLayout plan_layout(std::vector<Column> const& columns, LayoutOptions const& options) {
    check_items(columns);
    auto targets = targets_of(options);
    auto items = page_items(columns, targets);
    while (total_bytes(columns, items) > options.table_page_bytes && targets.narrow_bytes > 1) {
        targets = {targets.wide_bytes / 2, targets.narrow_bytes / 2, targets.block_bytes};
        items = page_items(columns, targets);
    }
    TableLayout layout;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        layout.columns.push_back({items[i], codec_of(columns[i], options)});
        if (!columns[i].parent) layout.block_rows = std::max(layout.block_rows, items[i]);
    }
    return layout;
}

TableLayout plan_cluster_layout(std::vector<Column> const& columns, LayoutOptions const& options) {
    check_items(columns);
    auto const targets = targets_of(options);
    TableLayout layout;
    layout.cluster_bytes = std::max<std::uint64_t>(1, options.cluster_bytes);
    for (auto const& column : columns) {
        layout.columns.push_back({items_for(column.item_bytes(), targets.of(column)), codec_of(column, options)});
    }
    return layout;
}

} // namespace thalweg::model
