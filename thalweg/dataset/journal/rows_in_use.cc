#include "thalweg/dataset/journal/rows_in_use.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {
namespace {

std::uint64_t end_of(model::RowRange const& rows) { return rows.first + rows.count; }

// `ranges`, with one more that may lie anywhere.
void insert(Ranges& ranges, model::RowRange rows) {
    auto const first =
        std::find_if(ranges.begin(), ranges.end(), [&](auto const& each) { return end_of(each) >= rows.first; });
    auto last = first;
    for (; last != ranges.end() && last->first <= end_of(rows); ++last) {
        auto const end = std::max(end_of(rows), end_of(*last));
        rows.first = std::min(rows.first, last->first);
        rows.count = end - rows.first;
    }
    ranges.insert(ranges.erase(first, last), rows);
}

} // namespace

void RowsInUse::add_rows(RowsRecord const& rows, std::uint32_t segment, double stored_bytes) {
    if (rows.count == 0) return;
    auto& pieces = columns_[{rows.producer, rows.column}].pieces;
    auto const bytes_per_item = stored_bytes / static_cast<double>(rows.count);
    auto& all = needed_[segment];
    for (auto const& range : needed(rows)) {
        all.items += range.count;
        all.stored_bytes += bytes_per_item * static_cast<double>(range.count);
        if (pieces.empty() || pieces.back().segment != segment || end_of(pieces.back().items) != range.first) {
            pieces.push_back({range, segment, bytes_per_item});
            continue;
        }
        auto& last = pieces.back();
        auto const bytes = last.bytes_per_item * static_cast<double>(last.items.count) +
                           bytes_per_item * static_cast<double>(range.count);
        last.items.count += range.count;
        last.bytes_per_item = bytes / static_cast<double>(last.items.count);
    }
}

void RowsInUse::add_pages(std::span<PageRecord const> pages, std::uint64_t record_end) {
    for (auto const& page : pages) {
        if (page.column == kClusterEnd || page.count == 0) continue;
        Key const key{page.producer, page.column};
        columns_.try_emplace(key);
        announced_.push_back({key, {page.first, page.count}, record_end, page.offset});
    }
}

void RowsInUse::void_pages(std::uint64_t offset) {
    std::erase_if(announced_, [&](AnnouncedRows const& each) { return each.offset == offset; });
}

void RowsInUse::finish(std::uint32_t producer) {
    bool has_rows = false;
    auto const begin = columns_.lower_bound({producer, 0});
    auto end = begin;
    for (; end != columns_.end() && end->first.first == producer; ++end)
        has_rows = has_rows || !end->second.pieces.empty();
    if (has_rows)
        finished_.insert(producer);
    else
        columns_.erase(begin, end);
}

void RowsInUse::cover(std::uint64_t covered_bytes) {
    for (; !announced_.empty() && announced_.front().record_end <= covered_bytes; announced_.pop_front()) {
        auto const found = columns_.find(announced_.front().key);
        if (found != columns_.end()) cover(found->second, announced_.front().rows);
    }
}

void RowsInUse::cover(Column& column, model::RowRange const& rows) {
    auto const before = column.covered;
    insert(column.covered, rows);
    std::erase_if(column.pieces, [&](Piece const& piece) {
        auto const hidden = total(intersect({piece.items}, column.covered));
        auto const newly = hidden - total(intersect({piece.items}, before));
        auto& all = needed_[piece.segment];
        THALWEG_ASSERT(newly <= all.items, "rows that pages hold now were needed before");
        all.items -= newly;
        all.stored_bytes = std::max(0.0, all.stored_bytes - piece.bytes_per_item * static_cast<double>(newly));
        return hidden == piece.items.count;
    });
}

Ranges RowsInUse::needed(RowsRecord const& rows) const {
    auto const found = columns_.find({rows.producer, rows.column});
    if (found == columns_.end()) return {};
    Ranges needed;
    auto from = rows.first;
    for (auto const& range : intersect({{rows.first, rows.count}}, found->second.covered)) {
        append_range(needed, from, range.first - from);
        from = end_of(range);
    }
    append_range(needed, from, rows.first + rows.count - from);
    return needed;
}

RowsInUse::Needed RowsInUse::needed_of(std::uint32_t segment) const {
    auto const found = needed_.find(segment);
    return found == needed_.end() ? Needed{} : found->second;
}

void RowsInUse::forget_segment(std::uint32_t segment) {
    needed_.erase(segment);
    for (auto column = columns_.begin(); column != columns_.end();) {
        auto& pieces = column->second.pieces;
        std::erase_if(pieces, [&](Piece const& piece) { return piece.segment == segment; });
        bool const over = pieces.empty() && finished_.contains(column->first.first);
        column = over ? columns_.erase(column) : std::next(column);
    }
}

} // namespace thalweg::dataset
