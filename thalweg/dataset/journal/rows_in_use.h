// Keeps account of the journaled rows that are still needed, and of the segments of the journal in which they are. Rows
// are needed until durable pages hold them: until a BARRIER that covers these pages is on the disk.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/dataset/journal/coverage.h"
#include "thalweg/dataset/journal/journal_rows.h"

namespace thalweg::dataset {

class RowsInUse {
  public:
    // Notes rows that were journaled in this segment, where they take about so many bytes.
    void add_rows(RowsRecord const& rows, std::uint32_t segment, double stored_bytes);
    // Notes pages that were announced by a record which ends at this offset.
    void add_pages(std::span<PageRecord const> pages, std::uint64_t record_end);
    // The pages at this offset of the file do not count: their rows are needed until others hold them.
    void void_pages(std::uint64_t offset);
    // No more pages will come of this producer.
    void finish(std::uint32_t producer);
    // Pages announced up to this offset are durable.
    void cover(std::uint64_t covered_bytes);

    // Returns those of the rows that were added which are still needed.
    Ranges needed(RowsRecord const& rows) const;
    bool has_finished(std::uint32_t producer) const { return finished_.contains(producer); }
    struct Needed {
        std::uint64_t items = 0;
        double stored_bytes = 0;
    };
    Needed needed_of(std::uint32_t segment) const;
    // Its rows are in another segment now, or in none.
    void forget_segment(std::uint32_t segment);

  private:
    using Key = std::pair<std::uint32_t, std::uint32_t>; // producer, column
    struct Piece {
        model::RowRange items;
        std::uint32_t segment;
        double bytes_per_item;
    };
    struct Column {
        Ranges covered; // by durable pages
        std::vector<Piece> pieces;
    };
    struct AnnouncedRows {
        Key key;
        model::RowRange rows;
        std::uint64_t record_end;
        std::uint64_t offset; // of their page
    };

    void cover(Column& column, model::RowRange const& rows);

    std::map<Key, Column> columns_; // of producers that have not finished, or have rows in later segments
    std::deque<AnnouncedRows> announced_;
    std::set<std::uint32_t> finished_;       // among the producers of `columns_`
    std::map<std::uint32_t, Needed> needed_; // by segment
};

} // namespace thalweg::dataset
