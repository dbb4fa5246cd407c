// From the producers' memory into the journal: announced pages, and rows that are in no page yet. Used by the committer
// while the run is open, and by `recover` for segments that outlived all processes of the run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/staging.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct PageCounts {
    std::uint64_t all = 0;
    std::uint64_t of_lengths = 0; // among them: of lengths columns, which are written anew at the end
    std::uint64_t unit_bytes = 0; // of work units, in the table of them that the finished file has
};

// What the committer knows of one producer.
class ProducerIntake {
  public:
    // Throws where the producer's memory cannot be opened.
    ProducerIntake(Ledger& ledger, model::RunHead const& head, std::size_t slot, JournalWriter& journal);

    // Journals the pages announced since the last call, which was made at `last_ns` or later.
    PageCounts take_pages(JournalWriter& journal, std::uint64_t last_ns = 0);
    // What the units journaled since the last call take in the finished file's table of units.
    std::uint64_t take_unit_bytes() { return std::exchange(unit_bytes_, 0); }
    // What the entries of these units take in the table that the run's memory has.
    std::uint64_t take_unit_entry_bytes() { return std::exchange(unit_entry_bytes_, 0); }

    // What the last call journaled.
    std::span<PageRecord const> taken() const { return batch_; }

    // The rows that committed work units have of this producer. They are journaled as they are announced, and are
    // handed out here, each once, when all of them are in journaled pages or rows.
    struct UnitRows {
        UnitEntryId entry;
        std::uint32_t part; // the first one carries the summary
        std::uint64_t first_row;
        std::uint64_t rows;
        std::uint64_t after_ns = 0; // their unit was committed later than that
    };
    std::vector<UnitRows> take_units();
    // The least `after_ns` of those that were not handed out; nothing where there are none.
    std::optional<std::uint64_t> units_after_ns() const;
    // Ends of clusters with work units, which are journaled behind these.
    std::vector<PageRecord> take_cluster_ends() { return std::exchange(cluster_ends_, {}); }
    bool is_of_units() const { return staging_.head().of_units != 0; }

    // Journals items that no journaled page or row holds: of each column those in front of `ends`, or, without `ends`,
    // all that count. Stops after about `budget_bytes`. Returns the bytes written.
    std::uint64_t take_rows(JournalWriter& journal, std::span<std::uint64_t const> ends, std::uint64_t budget_bytes);
    std::uint64_t take_rows(JournalWriter& journal, std::uint64_t budget_bytes);

    // The producer is finished, or dead: journals all that it had published, or, of work units, committed; a unit whose
    // key it had taken when it died is committed. Idempotent.
    void settle(JournalWriter& journal, bool died);

    // By column: so many items, from the first one on, are in journaled pages or rows - once take_pages was called
    // after take_rows.
    std::vector<std::uint64_t> covered_items() const;

    Staging const& staging() const { return staging_; }
    std::size_t table() const { return table_; }
    std::size_t slot() const { return slot_; }
    std::uint32_t number() const { return number_; }
    bool settled() const { return settled_; }

  private:
    struct ColumnProgress {
        std::uint64_t covered = 0;     // items, from 0 on without a gap, in journaled pages or rows
        std::uint64_t sealed = 0;      // items in journaled pages, from 0 on without a gap
        std::vector<PageRecord> early; // journaled before a page in front of them
    };

    // Units that were announced together, and the items that all of them need, by column.
    struct UnitBatch {
        std::vector<UnitRows> units;
        std::vector<std::uint64_t> items;
    };

    void cover(PageRecord const& page);
    void journal_units(std::span<UnitRows const> units, JournalWriter& journal);
    void commit_for_the_dead(JournalWriter& journal);

    std::uint64_t unit_bytes_ = 0, unit_entry_bytes_ = 0;
    model::RunHead const& head_;
    Ledger& ledger_;
    std::size_t slot_;
    std::uint32_t number_;
    std::size_t table_;
    std::shared_ptr<base::SharedMemory> memory_;
    Staging staging_;
    std::vector<ColumnProgress> progress_;
    std::vector<PageRecord> batch_;
    std::deque<UnitBatch> units_; // in the order of their rows
    std::vector<PageRecord> cluster_ends_;
    UnitEntryId last_unit_ = 0;
    std::uint64_t last_ns_ = 0; // of take_pages
    bool settled_ = false;
};

} // namespace thalweg::dataset
