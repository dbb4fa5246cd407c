// How the columns of a table are cut into pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/model/column.h"

namespace thalweg::model {

struct ColumnLayout {
    std::uint64_t page_items = 0; // items in a full page
    std::string codec;            // a codec::Spec by name
};

// In a container with clusters, a page is cut by its size alone, and the last page of a cluster is shorter. In any
// other container all pages of a column have one size: of the columns that count rows, the widest has the fewest rows a
// page; every other one has 2^k times as many. So the page sizes divide each other, and `block_rows`, the largest, is a
// multiple of all: rows that fill a block fill whole pages of every such column.
struct TableLayout {
    std::vector<ColumnLayout> columns;
    std::uint64_t block_rows = 1;
    std::uint64_t cluster_bytes = 0; // raw size of a cluster, at most; 0: the container has none
    // Clusters end with the row that brings them to `cluster_bytes`, and pages have `page_items`, whatever memory there
    // is: where a run cuts is a function of its rows alone. Otherwise a cluster ends sooner where memory is used up.
    bool fixed_cuts = false;
};

// The defaults of containers that have no values of their own.
inline constexpr std::uint64_t kNarrowPageBytes = 32 << 10;
inline constexpr char const* kCodec = "bitshuffle+lz4";

struct LayoutOptions {
    std::uint64_t wide_page_bytes = 1 << 20;             // of columns with items of 1 KiB and more
    std::optional<std::uint64_t> narrow_page_bytes = {}; // of all others; none: the container's own
    std::uint64_t table_page_bytes = 32 << 20;           // the pages of one table, one of each column, stay below this
    std::uint64_t block_bytes = 64 << 20;                // a damaged page costs its block
    // The codec of columns whose items have 1 KiB or more, and the codec of all others. Empty: the container's own.
    std::string wide_codec = {};
    std::string narrow_codec = {};
    std::uint64_t cluster_bytes = 6 << 20; // raw, in containers that have clusters
};

// Throws base::UsageError where one item is larger than a page can be (4 GiB).
TableLayout plan_layout(std::vector<Column> const& columns, LayoutOptions const& options);
// The same for containers with clusters.
TableLayout plan_cluster_layout(std::vector<Column> const& columns, LayoutOptions const& options);

} // namespace thalweg::model
