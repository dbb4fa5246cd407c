// A producer: takes rows of one table, seals them into pages, writes the pages itself.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/append/page_source.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/dataset/run/unit_table.h"

namespace thalweg::dataset {

class Sealer;
class StagingMemory;
struct RowSlices;

// Used by one thread at a time. Rows are published when `append` returns: they lie in memory that outlives this
// process, and the committer sees that they reach the file.
class Producer {
  public:
    // `of_units`: its rows count in work units only (work_unit.h).
    Producer(std::shared_ptr<OpenRun> run, std::size_t table, bool of_units = false);
    // Throws base::UsageError where there is no such table.
    Producer(std::shared_ptr<OpenRun> const& run, std::string const& table)
        : Producer(run, run->head.schema.table_index(table)) {}
    // What is published is taken over by the committer. In a block that an exception leaves: as `abandon`.
    ~Producer();
    Producer(Producer&&) noexcept;

    // One span a column, in the order of model::flatten: the items of `rows` rows, contiguous. Lengths columns: uint64.
    // Throws base::UsageError if the sizes do not fit together, base::SystemError if the run cannot go on, or (with
    // ENOSPC, EDQUOT or EFBIG) if the disk is full: it takes more once there is room. After any error, also one that
    // interrupts it, rows() tells how many of these rows are taken.
    void append(std::uint64_t rows, std::span<std::span<std::byte const> const> columns);

    // A page that is encoded by its column's codec already: as it came from another file, say.
    struct EncodedPage {
        std::size_t column = 0;
        std::uint64_t first = 0; // item, counted from the beginning of its cluster
        std::uint64_t count = 0;
        std::uint64_t sum_before = 0; // of a lengths column: of the lengths in front of the page in its cluster
        std::uint64_t stored_bytes = 0;
    };
    // How such pages are handed over: one as it lies in memory, or several that lie one behind the other in another
    // file.
    struct TakePages {
        std::function<void(EncodedPage const&, std::span<std::byte const> stored)> one;
        std::function<void(std::span<EncodedPage const>, PageSource const&)> run;
    };

    // One whole cluster, of `rows` rows and so many `items` of each column, where the container has clusters. `give`
    // hands over all its pages, in any order; each is copied before `take` returns. Rows in front of it end their
    // cluster. The rows are published when this returns: all pages are in the file then. Throws base::UsageError where
    // the pages are not those of `items`; what `give` throws passes. After an error the producer takes no more rows, a
    // work unit can only be dropped, and nothing of the cluster counts.
    void append_cluster(std::uint64_t rows, std::span<std::uint64_t const> items,
                        std::function<void(TakePages const&)> const& give);

    // Raw bytes behind the last end of a cluster, and with how many one is full; 0: the container has no clusters.
    std::uint64_t open_bytes() const { return cluster_.bytes; }
    std::uint64_t cluster_bytes() const { return cluster_bytes_; }

    // Seals and writes what can be written, and hands the rest to the committer; on a full disk, all that has no room.
    // The producer takes no more rows.
    void finish();

    // Its worker ends on an exception, with this text: the run's report will say so. What was appended is kept. The
    // producer takes no more rows. Does nothing where it is finished.
    void abandon(std::string_view reason) noexcept;

    // Goes on in the next file where the run was continued in one; `append` does so, too. For streams that are silent.
    void follow_rotation();

    // Ends an old cluster, so that readers of the open file see its rows. A caller that has nothing to append for long
    // calls it now and then.
    void idle();

    // These are for the worker of work units. A unit begins where the last one ended.
    void begin_unit();
    std::uint64_t unit_rows() const { return rows_ - unit_.first_row; }
    // Between these two the worker takes the key. After the second the rows count, whatever happens.
    // `part`: which one of the unit's producers this is.
    void prepare_commit(UnitEntryId entry, std::uint32_t part) const;
    void commit_unit(UnitEntryId entry);
    // Goes back to the row with which the unit began, also after an error in the middle of a row. If pages with rows of
    // the unit are sealed already, those stay in the file for nothing, and this producer ends in front of them: another
    // one, with a new number, takes its place.
    void drop_unit();
    // In a run that is ordered by key a producer has one unit. All of it is in pages and in whole clusters afterwards,
    // and announced: nothing that follows decides how they are cut.
    void seal_unit();
    // Drops the unit, too; the producer ends in front of it.
    void drop_unit_and_finish();

    std::uint64_t rows() const { return rows_before_ + rows_; }
    std::uint32_t number() const { return number_; } // in its run; names it in CommitStatus
    model::Table const& table() const { return run_->head.schema.tables[table_]; }
    std::vector<model::Column> const& columns() const { return run_->head.columns[table_]; }
    Staging const& staging() const { return *staging_; }

  private:
    void start(std::shared_ptr<OpenRun> run);
    void prepare(OpenRun& run, std::size_t slot);
    void append_batches(RowSlices& slices, std::uint64_t rows, std::uint64_t most_rows);
    void append_batch(RowSlices& slices, std::uint64_t rows);
    void publish_whole_rows_of(std::span<std::span<std::byte const> const> parts, std::uint64_t rows,
                               std::size_t column, std::uint64_t items);
    // Batches with whole pages (producer_batches.cc).
    std::uint64_t items_to_page_end(std::size_t column) const;
    std::uint64_t items_in_whole_pages(std::size_t column, std::uint64_t rows) const;
    bool has_unbuffered_pages(std::uint64_t rows, std::uint64_t size_bytes) const;
    void append_whole_pages(RowSlices& slices, std::uint64_t rows);
    void keep_whole_rows();
    void publish_whole_rows();
    void append_unbuffered(RowSlices& slices, std::uint64_t rows);
    void encode_pages(std::size_t column, std::span<std::byte const> items);
    void wait_for_writes();
    void wait_for_room(std::span<std::span<std::byte const> const> parts);
    std::uint64_t blocks_for(std::size_t column, std::uint64_t size_bytes) const;
    bool nothing_in_flight() const;
    template <class HasRoom> void wait_until(HasRoom const& has_room);
    void copy_items(std::size_t column, std::span<std::byte const> bytes);
    void seal_page(std::size_t column);
    bool is_cluster_full() const;
    bool is_cluster_old() const;
    std::uint64_t most_batch_bytes() const;
    std::uint64_t rows_to_cluster_end(RowSlices const& slices, std::uint64_t rows) const;
    void end_cluster(bool by_age = false);
    void drain();
    bool has_whole_rows() const;
    void check_usable() const;
    void check_cluster(std::uint64_t rows, std::span<std::uint64_t const> items) const;
    std::size_t take_slot(OpenRun& run) const;
    void seal_rest(); // what fills no page is left to the committer
    // Returns false if the committer has taken the slot over.
    bool give_up_slot();
    [[noreturn]] void fail_taken_over() const;
    bool can_rewind() const;
    void rewind();

    std::shared_ptr<OpenRun> run_;
    std::size_t table_;
    bool of_units_;
    std::size_t slot_ = 0;
    std::uint32_t number_ = 0;
    std::unique_ptr<Staging> staging_;
    std::unique_ptr<StagingMemory> memory_;
    std::unique_ptr<Sealer> sealer_;
    // How far one column is.
    struct Progress {
        std::uint64_t written = 0; // items
        std::uint64_t sealed = 0;  // items
        std::uint64_t sum = 0;     // of the lengths sealed since the cluster began
    };
    // The rows since the last end of a cluster.
    struct OpenCluster {
        std::uint64_t first_row = 0;
        std::uint64_t bytes = 0; // raw
        std::uint64_t begun_ns = 0;
        bool is_behind_old = false; // age has ended the one in front of it
    };
    // What the open unit began with.
    struct OpenUnit {
        std::uint64_t first_row = 0;
        std::uint64_t cluster_bytes = 0;
    };
    std::vector<Progress> progress_; // by column
    OpenUnit unit_;
    std::vector<std::uint64_t> blocks_wanted_; // by column
    OpenCluster cluster_;
    std::uint64_t cluster_bytes_ = 0; // full at about this; 0: there are no clusters
    bool fixed_cuts_ = false;
    std::uint64_t rows_ = 0;
    std::uint64_t rows_before_ = 0; // in files before this one
    std::uint64_t rows_per_batch_ = 1;
    std::uint64_t fork_generation_ = 0;
    int exceptions_ = std::uncaught_exceptions(); // when it was made
    bool finished_ = false;
    bool has_sealed_ = false; // a page, since memory was last given back
    bool torn_ = false;       // an error left columns of different length: nothing may be added behind them
};

} // namespace thalweg::dataset
