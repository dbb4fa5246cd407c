// The page map: where the items of each column lie.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/model/layout.h"

namespace thalweg::model {

// `count` items of a column, from item `first` on: they begin `skip` items into the decoded page.
struct Page {
    enum class Place : std::uint8_t { file, journal, nowhere, map };

    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t skip = 0;
    std::uint64_t offset = 0; // of the stored bytes
    std::uint64_t stored_bytes = 0;
    std::uint64_t raw_bytes = 0;           // decoded size: of the whole page, `skip` and padding included
    std::optional<std::uint64_t> checksum; // base::xxh3 of the stored bytes, where it is known: 0 is one like any other
    bool encoded = false;                  // by the column's codec; otherwise the stored bytes are the raw ones
    // journal: bytes that wait there for a page of their own; nowhere: items that were never stored, see
    // ColumnMap::fill; map: bytes of ColumnMap::held
    Place place = Place::file;
    std::uint8_t codec = 0; // 0: the layout's; else one of ColumnMap::other_codecs, from 1 on
    // In a column of lengths, the values of this page are running sums: each includes its own length, and they begin at
    // 0 with the cluster.
    bool sums = false;
    std::optional<std::uint64_t> sum_before; // where it is known: the sum at the end of the page in front of it
    bool checksum_follows = false;           // 8 bytes of XXH3 lie behind the stored bytes
    // The first row of its cluster, numbered like the rows of its part or table; 0 where the container has no clusters.
    std::uint64_t cluster = 0;

    bool operator==(Page const&) const = default;
};

struct RowRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    bool operator==(RowRange const&) const = default;
};

// Rows that were sealed together.
struct Cluster {
    std::uint64_t first_row = 0;
    std::uint64_t rows = 0;
    std::uint64_t order = 0;   // among the clusters of all producers; clusters that were not ended come last
    bool whole = false;        // its pages hold exactly these rows
    bool ended_by_age = false; // and not because it was large enough

    bool operator==(Cluster const&) const = default;
};

// The pages and rows that one producer wrote to one table. Items and rows are numbered as that producer counted them.
struct Part {
    std::uint32_t producer = 0;
    std::vector<std::vector<Page>> columns; // sorted by `first`, no two overlap
    // The rows that are whole in every column, ascending. All begin at a multiple of block_rows, and all but the last
    // are whole blocks: a damaged page costs its block.
    std::vector<RowRange> rows;
    std::vector<Cluster> clusters; // the same rows, in containers of clusters
};

// A stretch of one part in the order of the finished table.
struct Segment {
    std::size_t part = 0;
    std::uint64_t first_row = 0; // as the producer counted
    std::uint64_t rows = 0;
};

// The one order of rows in containers without clusters: whole blocks of part
// 0, of part 1, ...; then what is left of each, cut at the next smaller page size, part by part; and so on down to the
// rows that fill no page. So every full page of every row-counting column lies on its column's grid, wherever its
// producer stopped. Rows of one producer keep their order within each step.
std::vector<Segment> order_of_rows(TableLayout const& layout, std::vector<Column> const& columns,
                                   std::span<Part const> parts);

// The one order of rows in containers with clusters: as they ended, so that a file that grows keeps the rows it has.
struct PlacedCluster {
    std::size_t part = 0;
    Cluster cluster;
};
std::vector<PlacedCluster> order_of_clusters(std::span<Part const> parts);

// The pieces of `pages` that hold items [first, first + count), cut at both ends. Throws base::DataError where an item
// is in none.
std::vector<Page> slice(std::span<Page const> pages, std::uint64_t first, std::uint64_t count);

// How pages hold parts of items: each band of items is cut into tiles of one shape, whose pages, of equal `first` and
// `count`, follow each other in the order of the tiles (the last dimension runs fastest). What of a tile lies beyond
// the item is padding.
struct Tiling {
    std::vector<std::uint64_t> shape; // of a tile within an item; as many dimensions as the item has, one at least

    bool operator==(Tiling const&) const = default;
};

// A whole table, numbered as readers see it.
struct TableMap {
    struct ColumnMap {
        std::vector<Page> pages;
        std::vector<std::string> other_codecs;
        bool by_value = false;        // pages count single values, not items: one may end within an item
        std::optional<Tiling> tiling; // none: pages hold whole items, or whole values
        bool big_endian = false;      // so the numbers are stored; decoded ones are not
        // The value of items that were never stored, in the byte order of the stored ones.
        std::vector<std::byte> fill; // empty: zero
        std::vector<std::byte> held; // values that no page of a file could name, since they lie in its metadata
        // Not empty: the pages are not known yet, and this is what the container calls the column, see
        // format::Format::load_pages.
        std::string later;
    };
    std::uint64_t rows = 0;
    std::vector<ColumnMap> columns;
};

} // namespace thalweg::model
