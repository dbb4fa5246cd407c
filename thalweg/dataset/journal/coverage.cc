#include "thalweg/dataset/journal/coverage.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {
namespace {

// The part of `page` within [first, end).
Page clipped(Page page, std::uint64_t first, std::uint64_t end) {
    auto const begin = std::max(first, page.first);
    auto const stop = std::min(end, page.first + page.count);
    page.skip += begin - page.first;
    page.first = begin;
    page.count = stop > begin ? stop - begin : 0;
    return page;
}

bool is_disjoint(std::vector<Page> const& pages) {
    auto const reaches_next = [](Page const& page, Page const& next) { return page.first + page.count > next.first; };
    return std::adjacent_find(pages.begin(), pages.end(), reaches_next) == pages.end();
}

// Sorted, each page cut where the one before it ends.
std::vector<Page> disjoint(std::vector<Page> pages) {
    bool const has_empty = std::ranges::any_of(pages, [](Page const& page) { return page.count == 0; });
    if (!has_empty && is_disjoint(pages)) return pages; // as a rule, for producers announce pages in their order
    std::stable_sort(pages.begin(), pages.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    std::vector<Page> result;
    std::uint64_t end = 0;
    for (auto const& page : pages) {
        auto const rest = clipped(page, end, page.first + page.count);
        if (rest.count == 0) continue;
        end = rest.first + rest.count;
        result.push_back(rest);
    }
    return result;
}

} // namespace

void append_range(Ranges& ranges, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first) {
        ranges.back().count += count;
    } else {
        ranges.push_back({first, count});
    }
}

std::vector<Page> merged(std::vector<Page> pages, std::vector<Page> waiting) {
    pages = disjoint(std::move(pages));
    waiting = disjoint(std::move(waiting));
    if (waiting.empty()) return pages;
    std::vector<Page> result;
    result.reserve(pages.size() + waiting.size());
    auto next = waiting.begin();
    auto const fill = [&](std::uint64_t first, std::uint64_t end) {
        while (next != waiting.end() && next->first + next->count <= first) ++next;
        for (auto each = next; each != waiting.end() && each->first < end; ++each) {
            auto const piece = clipped(*each, first, end);
            if (piece.count > 0) result.push_back(piece);
        }
    };
    std::uint64_t end = 0;
    for (auto const& page : pages) {
        if (page.first > end) fill(end, page.first);
        result.push_back(page);
        end = page.first + page.count;
    }
    fill(end, ~std::uint64_t{0});
    THALWEG_ASSERT_COSTLY(is_disjoint(result), "pages of a column are sorted, and no two overlap");
    return result;
}

Ranges ranges_of(std::span<Page const> pages) {
    Ranges ranges;
    for (auto const& page : pages) append_range(ranges, page.first, page.count);
    return ranges;
}

Ranges intersect(Ranges const& a, Ranges const& b) {
    Ranges result;
    auto right = b.begin();
    for (auto const& left : a) {
        while (right != b.end() && right->first + right->count <= left.first) ++right;
        for (auto each = right; each != b.end() && each->first < left.first + left.count; ++each) {
            auto const first = std::max(left.first, each->first);
            auto const end = std::min(left.first + left.count, each->first + each->count);
            append_range(result, first, end - first);
        }
    }
    return result;
}

std::uint64_t total(Ranges const& ranges) {
    std::uint64_t sum = 0;
    for (auto const& range : ranges) sum += range.count;
    return sum;
}

bool contains(Ranges const& ranges, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return true;
    auto const after = std::upper_bound(ranges.begin(), ranges.end(), first,
                                        [](std::uint64_t item, auto const& range) { return item < range.first; });
    if (after == ranges.begin()) return false;
    auto const& range = *(after - 1);
    return first - range.first < range.count && count <= range.count - (first - range.first);
}

Ranges keep_blocks(Ranges const& valid, std::uint64_t block_rows) {
    Ranges begun; // from the first row that begins a block
    std::uint64_t whole_rows = 0, most_rows = 0;
    std::size_t last = 0;
    for (auto const& range : valid) {
        auto const begin = (range.first + block_rows - 1) / block_rows * block_rows;
        auto const end = range.first + range.count;
        if (begin >= end) continue;
        begun.push_back({begin, end - begin});
        if (whole_rows + (end - begin) > most_rows) {
            most_rows = whole_rows + (end - begin);
            last = begun.size() - 1;
        }
        whole_rows += (end - begin) / block_rows * block_rows;
    }
    Ranges kept;
    for (std::size_t i = 0; i < begun.size() && i <= last; ++i) {
        auto const rows = begun[i].count;
        append_range(kept, begun[i].first, i == last ? rows : rows / block_rows * block_rows);
    }
    return kept;
}

} // namespace thalweg::dataset
