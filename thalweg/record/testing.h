// For the tests of this folder: a folder for files, and the expected rows of a source.
#pragma once

#include <ostream>
#include <string>

#include "thalweg/dataset/testing.h"
#include "thalweg/record/recorded.h"
#include "thalweg/source/source.h"

namespace thalweg::source {

inline bool operator==(RowSet const& a, RowSet const& b) {
    return a.table == b.table && a.rows == b.rows && a.columns == b.columns;
}

inline void PrintTo(RowSet const& set, std::ostream* out) {
    *out << set.rows << " rows of " << model::to_json({{set.table}});
    for (auto const& column : set.columns) *out << ", " << column.size() << " bytes";
}

} // namespace thalweg::source

namespace thalweg::record::testing {

using dataset::testing::Directory;
using dataset::testing::kTimeoutNs;

// Returns all rows of a stream that ends.
inline source::RowSet rows_of(source::Source& source, std::size_t stream) {
    source::RowSet set{.table = source.streams()[stream].table};
    auto const reader = source.open(stream);
    for (source::Batch batch; reader->next(batch, 0); set.rows += batch.rows) {
        set.columns.resize(batch.columns.size());
        for (std::size_t i = 0; i < batch.columns.size(); ++i) {
            set.columns[i].insert(set.columns[i].end(), batch.columns[i].begin(), batch.columns[i].end());
        }
    }
    return set;
}

inline source::RowSet joined(source::RowSet first, source::RowSet const& second) {
    first.rows += second.rows;
    for (std::size_t i = 0; i < first.columns.size(); ++i) {
        first.columns[i].insert(first.columns[i].end(), second.columns[i].begin(), second.columns[i].end());
    }
    return first;
}

} // namespace thalweg::record::testing
