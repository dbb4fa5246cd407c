#include "thalweg/format/hdf5/ours/table_datasets.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/dataset_paths.h"
#include "thalweg/format/hdf5/ours/running_sums.h"
#include "thalweg/format/hdf5/ours/value_parts.h"

namespace thalweg::format::hdf5::ours {
namespace {

using model::Column;

// The segments of a table as spans, merged where one follows the other.
std::vector<ItemSpan> spans_of_rows(model::TableLayout const& layout, std::vector<Column> const& columns,
                                    std::span<model::Part const> parts) {
    std::vector<ItemSpan> spans;
    std::uint64_t at = 0;
    for (auto const& segment : model::order_of_rows(layout, columns, parts)) {
        bool const follows = !spans.empty() && spans.back().part == segment.part &&
                             spans.back().first + spans.back().count == segment.first_row;
        if (follows) {
            spans.back().count += segment.rows;
        } else {
            spans.push_back({segment.part, segment.first_row, segment.rows, at});
        }
        at += segment.rows;
    }
    return spans;
}

std::uint64_t items_in(std::vector<ItemSpan> const& spans) {
    std::uint64_t items = 0;
    for (auto const& span : spans) items += span.count;
    return items;
}

// One table of the run.
struct TableOfRun {
    storage::Storage const& file;
    storage::Storage const& journal;
    model::Table const& table;
    std::vector<Column> const& columns;
    model::TableLayout const& layout;
    std::vector<model::Part> const& parts;
};

PagesByPart pages_of(TableOfRun const& run, std::size_t column) {
    PagesByPart pages;
    for (auto const& part : run.parts) pages.emplace_back(part.columns.at(column));
    return pages;
}

void plan_table(FilePlan& plan, TableOfRun const& run, Appender& appender) {
    auto const rows = spans_of_rows(run.layout, run.columns, run.parts);
    std::vector<std::vector<ItemSpan>> elements(run.columns.size()); // of lengths columns: the spans of what they count
    for (std::size_t i = 0; i < run.columns.size(); ++i) {
        auto const& column = run.columns[i];
        auto const& [page_items, codec] = run.layout.columns[i];
        auto const& spans = column.parent ? elements[*column.parent] : rows;
        auto const pages = pages_of(run, i);
        ItemReader reader(run.file, run.journal, column, codec,
                          fmt::format("{}: table '{}', column '{}'", run.file.path(), run.table.name, column.path));
        Dataset dataset{dataset_path(run.table, column),
                        stored_scalar(column),
                        column.shape,
                        column.item_bytes(),
                        codec,
                        page_items,
                        items_in(spans),
                        {}};
        if (column.role == Column::Role::values && column.parent) {
            lay_out_parts(plan, std::move(dataset), spans, pages, reader, appender);
            continue;
        }
        if (column.role == Column::Role::lengths) {
            elements[i] = add_up_lengths(dataset, spans, pages, reader, appender);
        } else {
            lay_on_grid(dataset, spans, pages, reader, appender);
        }
        plan.datasets.push_back(std::move(dataset));
    }
}

} // namespace

FilePlan plan_tables(storage::Storage const& file, storage::Storage const& journal, model::RunHead const& head,
                     model::RunFacts const& facts, Appender& appender) {
    FilePlan plan;
    for (std::size_t i = 0; i < head.schema.tables.size(); ++i) {
        plan_table(plan, {file, journal, head.schema.tables[i], head.columns[i], head.layouts[i], facts.tables.at(i)},
                   appender);
    }
    return plan;
}

void check_disjoint(FilePlan const& plan, std::uint64_t end) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (auto const& dataset : plan.datasets) {
        for (auto const& page : dataset.pages) {
            if (page.stored_bytes > dataset.page_bytes()) {
                base::fail_data({fmt::format("{}: the page at offset {} has {} bytes", dataset.path, page.offset,
                                             page.stored_bytes),
                                 fmt::format("a chunk has {}", dataset.page_bytes())});
            }
            if (page.stored_bytes > 0) ranges.emplace_back(page.offset, page.stored_bytes);
        }
    }
    std::sort(ranges.begin(), ranges.end());
    auto free = base::kBlockBytes;
    for (auto const& [offset, size_bytes] : ranges) {
        if (offset < free || offset + size_bytes > end) {
            base::fail_data({fmt::format("the page of {} bytes at offset {} cannot be linked", size_bytes, offset),
                             fmt::format("the bytes before {} and behind {} belong to others", free, end)});
        }
        free = offset + size_bytes;
    }
}

} // namespace thalweg::format::hdf5::ours
