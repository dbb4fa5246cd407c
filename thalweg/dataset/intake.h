// From the producers' memory into the journal: announced pages, and rows that are in no page yet. Used by the committer
// while the run is open, and by `recover` for segments that outlived everybody.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/journal.h"
#include "thalweg/dataset/ledger.h"
#include "thalweg/dataset/staging.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct PageCounts {
    std::uint64_t all = 0;
    std::uint64_t of_lengths = 0; // among them: of lengths columns, which are written anew at the end
};

// What the committer knows of one producer.
class ProducerIntake {
  public:
    // Takes on the removal of the producer's segment. Throws where the segment cannot be opened.
    ProducerIntake(Ledger& ledger, model::RunHead const& head, std::size_t slot, JournalWriter& journal);

    // Journals the pages announced since the last call.
    PageCounts take_pages(JournalWriter& journal);

    // What the last call journaled.
    std::span<PageRecord const> taken() const { return batch_; }

    // Journals published rows that no page holds. `everything`: of all columns, up to the last row (the producer is
    // finished or dead). Otherwise of slow columns, and of columns that keep rows of announced pages of others from
    // being whole; stops after about `budget_bytes`. Returns the bytes written.
    std::uint64_t take_rows(JournalWriter& journal, bool everything, std::uint64_t budget_bytes);

    // The producer is finished, or dead: journals all that it had published. Idempotent.
    void settle(JournalWriter& journal, bool died);

    // The producer's segment goes with this object if everything in it is journaled, and stays for `recover` if not.
    ~ProducerIntake();

    // By column: so many items, from the first one on, are in journaled pages or rows - once take_pages was called
    // after take_rows.
    std::vector<std::uint64_t> covered_items() const;

    Staging const& staging() const { return staging_; }
    std::size_t table() const { return table_; }
    std::size_t slot() const { return slot_; }
    bool settled() const { return settled_; }

  private:
    struct ColumnProgress {
        std::uint64_t covered = 0;       // items, from 0 on without a gap, in journaled pages or rows
        std::uint64_t sealed = 0;        // items in journaled pages, from 0 on without a gap
        std::uint64_t sealed_before = 0; // at the last take_rows
        std::vector<PageRecord> early;   // journaled before a page in front of them
    };

    void cover(PageRecord const& page);
    std::uint64_t wanted_rows() const;
    std::uint64_t wanted_items(std::size_t column, std::uint64_t rows, bool everything) const;

    model::RunHead const& head_;
    std::size_t slot_;
    std::size_t table_;
    std::shared_ptr<base::SharedMemory> memory_;
    Staging staging_;
    std::vector<ColumnProgress> progress_;
    std::vector<PageRecord> batch_;
    bool settled_ = false;
};

} // namespace thalweg::dataset
