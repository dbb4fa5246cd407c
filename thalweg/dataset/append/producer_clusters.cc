// Whole clusters of pages that are encoded already.
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/error.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/append/staging_memory.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kMostItems = std::numeric_limits<std::uint32_t>::max(); // of a page, and rows of a cluster

} // namespace

void Producer::check_cluster(std::uint64_t rows, std::span<std::uint64_t const> items) const {
    auto const name = fmt::format("table '{}' of {} takes no encoded cluster", table().name, run_->path());
    if (cluster_bytes_ == 0) base::fail_usage({name, "its container has no clusters", "append its rows"});
    if (items.size() != columns().size())
        base::fail_usage({name, fmt::format("{} columns were given, and it has {}", items.size(), columns().size())});
    if (rows > kMostItems) base::fail_usage({name, fmt::format("{} rows are too many for one", rows)});
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (columns()[i].parent || items[i] == rows) continue;
        base::fail_usage(
            {name, fmt::format("column '{}' has {} items, and there are {} rows", columns()[i].path, items[i], rows)});
    }
}

// Items of the pages never lie in staging, so none is published before its page is announced: a process that looks for
// what is published and in no page would not find them.
void Producer::append_cluster(std::uint64_t rows, std::span<std::uint64_t const> items,
                              std::function<void(TakePages const&)> const& give) {
    check_usable();
    check_cluster(rows, items);
    if (rows == 0) return;
    if (!of_units_) follow_rotation();
    end_cluster();
    drain(); // what is in staging is released in front of what is not
    torn_ = true;
    std::vector<std::uint64_t> begins, given(items.size());
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        auto& progress = progress_[i];
        begins.push_back(progress.written);
        progress.written = progress.sealed = progress.written + items[i];
        progress.sum = 0;
        memory_->skip(i, items[i] * columns()[i].item_bytes());
        bytes += items[i] * columns()[i].item_bytes();
    }
    auto const placed = [&](EncodedPage const& page) {
        auto const column = page.column;
        bool const fits = column < items.size() && page.count > 0 && page.count <= kMostItems &&
                          page.count <= items[column] && page.first <= items[column] - page.count;
        if (!fits) {
            base::fail_usage({fmt::format("table '{}' of {}: an encoded page has no place in its cluster", table().name,
                                          run_->path()),
                              fmt::format("items {} to {} of column {}", page.first, page.first + page.count, column)});
        }
        given[column] += page.count;
        return SealedPage{.column = column,
                          .first = begins[column] + page.first,
                          .count = page.count,
                          .cluster = rows_,
                          .sum_before = page.sum_before,
                          .stored_bytes = page.stored_bytes};
    };
    std::vector<SealedPage> run;
    give(
        {[&](EncodedPage const& page, std::span<std::byte const> stored) { sealer_->add_stored(placed(page), stored); },
         [&](std::span<EncodedPage const> pages, PageSource const& from) {
             run.clear();
             for (auto const& page : pages) run.push_back(placed(page));
             sealer_->add_run(run, from);
         }});
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (given[i] == items[i]) continue;
        base::fail_usage({fmt::format("table '{}' of {}: an encoded cluster is not whole", table().name, run_->path()),
                          fmt::format("pages of column '{}' have {} items, and {} were announced", columns()[i].path,
                                      given[i], items[i])});
    }
    sealer_->drain_stored();
    for (std::size_t i = 0; i < items.size(); ++i)
        staging_->column(i).published.store(progress_[i].written, std::memory_order_release);
    auto const first_row = rows_;
    rows_ += rows;
    staging_->head().rows_published.store(rows_, std::memory_order_release);
    staging_->add(Count::appended_bytes, bytes);
    sealer_->end_cluster(first_row, rows, false);
    cluster_ = {rows_};
    has_sealed_ = false;
    torn_ = false;
}

} // namespace thalweg::dataset
