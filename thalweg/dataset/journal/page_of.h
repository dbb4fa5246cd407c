// From an announced page to a page of the map.
#pragma once

#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/model/column.h"
#include "thalweg/model/page.h"

namespace thalweg::dataset {

inline model::Page page_of(PageRecord const& record, model::Column const& column, model::TableLayout const& layout) {
    model::Page page;
    page.first = record.first;
    page.count = record.count;
    page.offset = record.offset;
    page.stored_bytes = record.stored_bytes;
    page.raw_bytes = record.count * column.item_bytes();
    page.checksum = record.checksum;
    page.encoded = record.encoded != 0;
    page.sums = layout.cluster_bytes > 0 && column.role == model::Column::Role::lengths;
    if (page.sums) page.sum_before = record.sum_before;
    page.cluster = layout.cluster_bytes > 0 ? record.cluster : 0;
    return page;
}

} // namespace thalweg::dataset
