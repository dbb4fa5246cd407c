// Reads a closed file, or a run that is still open (through its journal, without disturbing the writer).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/complete/growing_facts.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/read/late_pages.h"
#include "thalweg/dataset/read/row_order.h"
#include "thalweg/format/stored_column.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/far_file.h"
#include "thalweg/storage/steady_file.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

struct ReadOptions {
    unsigned threads = 0;        // 0: as many as there are usable cores
    bool check_checksums = true; // of every page read, if the file keeps them
};

// Throws base::DataError: nothing in the file is a table, for these reasons, of which it names some.
[[noreturn]] void fail_without_tables(std::string const& path, std::vector<std::string> reasons);

// Shows a file at one time: rows that an open run gains later are seen by opening it again. Thread-safe.
class Reader {
  public:
    // Throws base::UsageError if there is nothing at `path`, and base::DataError if the file is damaged, foreign, or an
    // unfinished run without its journal (with the advice to recover). A file in which everything is left out is an
    // error, too, unless the caller can read more of it (`even_without_tables`).
    static std::unique_ptr<Reader> open(std::string const& path, bool even_without_tables = false);

    // Opens a run that is followed: it has the rows that `facts` does not have behind it, numbered from 0 on. Returns
    // nothing if the run is not open any more, or has to be read anew.
    static std::unique_ptr<Reader> open_next(std::string const& path, GrowingFacts& facts);

    // Opens a closed file that another library reads for us. Its first bytes tell the container. Throws as above, and
    // what that library throws.
    static std::unique_ptr<Reader> open(std::unique_ptr<storage::FarFile> file, bool even_without_tables = false);

    std::string const& path() const { return path_; }
    bool is_far() const { return far_file_ != nullptr; } // another library reads it: nothing need be at the path
    // Returns true if the run is not closed: it is still being written, or waits for `recover`.
    bool is_open_run() const { return open_run_; }
    model::RunHead const& head() const { return map_.head; }
    std::map<std::string, std::string> const& metadata() const { return map_.metadata; }
    // Without the pages that are found when a column is asked for first: `column` has them.
    std::vector<model::TableMap> const& tables() const { return map_.tables; }
    // With all its pages, which are looked up now if they were left for later. Throws base::DataError naming table and
    // column if they cannot be found.
    model::TableMap::ColumnMap const& column(std::size_t table, std::size_t column) const;
    std::uint64_t rows(std::size_t table) const { return map_.tables.at(table).rows; }
    // Returns what the tables of another program's file leave out, and why.
    std::vector<model::LeftOut> const& left_out() const { return map_.left_out; }
    // Returns sentences about what is shown in another way than it is stored.
    std::vector<std::string> const& notes() const { return map_.notes; }
    // Returns the work units that count, and where their rows are; of an open run, those that are whole by now. Throws
    // base::DataError if the file's table of units is damaged. Everything else can still be read then.
    std::vector<Unit> units() const;
    // Returns what is known about the producers and losses of an open run.
    RunReport const& report() const { return report_; }
    // Return whose the rows of an open run are, and the journals that say so. These can be read after the run is
    // closed.
    RowOrder const& order() const { return order_; }
    Journals const& journals() const { return journals_; }
    storage::Storage const& file() const { return *file_; }
    // Returns what the file was when it was opened. Nothing: it has a journal, or it is far.
    std::optional<storage::FileStamp> state() const;
    // Throws base::DataError if the file has changed since then. `read` does so, too.
    void check_state() const;

    // The elements that the lists [lists.first, lists.first + lists.count) of a lengths column hold: the items of the
    // columns whose parent it is.
    ItemRange elements(std::size_t table, std::size_t lengths_column, ItemRange lists) const;

    // Returns the end of the items that are decoded with this one: of its page, or of the band of tiles that it is in.
    // Items that are not stored are decoded with no other.
    std::uint64_t page_end(std::size_t table, std::size_t column, std::uint64_t item) const;

    // Decodes items into `out` (exactly range.count * item_bytes bytes), pages in parallel. Lengths columns give
    // lengths as uint64 (`out` is aligned for them), whatever the file stores. Throws base::DataError naming table,
    // column, page and offset.
    void read(std::size_t table, std::size_t column, ItemRange range, std::span<std::byte> out,
              ReadOptions const& options = {}) const;

    // Bytes of the file read so far by this reader, for tests of what a projection costs.
    std::uint64_t bytes_read() const { return bytes_read_.load(); }

  private:
    Reader() = default;
    void show(Gathered const& gathered, Journals journals);

    struct Task;
    using Pages = std::shared_ptr<model::TableMap::ColumnMap const>; // of some items, or all
    Pages pages(std::size_t table, std::size_t column, ItemRange items) const;
    format::StoredColumn stored_column(std::size_t table, std::size_t column,
                                       model::TableMap::ColumnMap const& pages) const;
    void plan(std::size_t table, std::size_t column, ItemRange range, std::span<std::byte> out,
              std::vector<Task>& tasks) const;
    void read_page(Task const& task, bool check_checksum) const;
    std::uint64_t unit_values(std::size_t table, std::size_t column) const;
    std::vector<model::Page> slice(std::size_t table, std::size_t column, ItemRange items) const;
    void load(format::Format const& format, bool even_without_tables);
    static std::uint64_t bytes_of(std::span<Task const> tasks);
    void run(std::span<Task const> tasks, ReadOptions const& options) const;
    void fetch_and_run(std::span<Task const> tasks, ReadOptions const& options) const;
    std::vector<std::uint64_t> stored_lengths(std::size_t table, std::size_t column, ItemRange range,
                                              ReadOptions const& options) const;
    void read_stored(std::size_t table, std::size_t column, ItemRange range, std::span<std::uint64_t> values,
                     ReadOptions const& options) const;
    std::uint64_t sum_before(std::size_t table, std::size_t column, std::uint64_t item) const;
    std::uint64_t elements_before(std::size_t table, std::size_t column, std::uint64_t item) const;
    std::uint64_t first_element(std::size_t table, std::size_t column, std::uint64_t cluster) const;
    void to_lengths(std::size_t table, std::size_t column, ItemRange range, std::span<std::uint64_t> values) const;

    std::string path_;
    bool open_run_ = false;
    model::RunMap map_;
    std::unique_ptr<LatePages> late_; // of what is in the map
    std::vector<Unit> open_units_;    // of an open run
    RunReport report_;
    RowOrder order_;
    Journals journals_;
    std::unique_ptr<storage::Storage> file_;
    storage::FarFile const* far_file_ = nullptr;      // the same, if it is one
    storage::SteadyFile* steady_file_ = nullptr;      // the same, if it is of this machine and has no journal
    std::shared_ptr<storage::Storage const> journal_; // of an open run: its rows that are in no page
    mutable std::atomic<std::uint64_t> bytes_read_ = 0;
};

} // namespace thalweg::dataset
