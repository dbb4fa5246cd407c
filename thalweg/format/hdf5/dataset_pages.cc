#include "thalweg/format/hdf5/dataset_pages.h"

#include <algorithm>

namespace thalweg::format::hdf5 {

using model::Page;

bool is_plain(Dataset const& dataset) {
    return !dataset.tiling && !dataset.held && !dataset.big_endian && dataset.other_codecs.empty();
}

std::vector<Page> pages_of(Dataset const& dataset) {
    std::vector<Page> pages;
    pages.reserve(dataset.pages.size());
    if (dataset.held) {
        auto const bytes = dataset.held->size();
        if (bytes > 0) pages.push_back({0, dataset.items, 0, 0, bytes, bytes});
        for (auto& page : pages) page.place = Page::Place::map;
        return pages;
    }
    for (std::size_t i = 0; i < dataset.pages.size(); ++i) {
        auto const& page = dataset.pages[i];
        auto const first = (dataset.first_page + i) / dataset.pages_a_band * dataset.page_items;
        auto const count = std::min(dataset.page_items, dataset.items - first);
        auto const raw_bytes = page.encoded ? dataset.page_bytes() : page.stored_bytes;
        if (page.stored_bytes > 0) {
            pages.push_back({first, count, 0, page.offset, page.stored_bytes, raw_bytes, page.checksum, page.encoded});
            pages.back().codec = page.codec;
        } else if (dataset.has_fill) {
            bool const goes_on = !dataset.tiling && !pages.empty() && pages.back().place == Page::Place::nowhere;
            if (!goes_on) pages.push_back({first, 0});
            pages.back().count += count;
            pages.back().place = Page::Place::nowhere;
        }
    }
    return pages;
}

void copy_layout(Dataset const& dataset, model::TableMap::ColumnMap& column) {
    column.tiling = dataset.tiling;
    column.other_codecs = dataset.other_codecs;
    column.big_endian = dataset.big_endian;
    column.fill = dataset.fill;
    if (dataset.held) column.held = *dataset.held;
    if (dataset.later) column.later = dataset.path;
}

model::TableMap::ColumnMap column_map(model::Column const& column, Dataset const& dataset) {
    model::TableMap::ColumnMap map{pages_of(dataset)};
    copy_layout(dataset, map);
    if (column.role == model::Column::Role::lengths) {
        for (auto& page : map.pages) page.sums = true;
    }
    return map;
}

} // namespace thalweg::format::hdf5
