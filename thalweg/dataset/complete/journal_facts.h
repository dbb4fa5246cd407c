// Puts together by producer what the records of a journal say. A record that makes no sense is left out; nothing else
// is judged here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/complete/unit_facts.h"
#include "thalweg/dataset/journal/coverage.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

// As its producer announced it.
struct EndedCluster {
    std::uint64_t rows = 0;
    std::uint64_t pages = 0;
    std::uint64_t order = 0;
    bool by_age = false;
};

// What a reader who follows the run has seen of a producer: that is kept no more, and only counted.
struct SeenBeginning {
    std::uint64_t rows = 0;
    std::vector<std::uint64_t> items; // by column: those of these rows
    std::uint64_t pages = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
    std::uint64_t end_offset = 0; // behind the last of these pages
};

struct ProducerFacts {
    std::size_t table = 0;
    SeenBeginning seen;
    bool of_units = false;                       // its rows count in work units only
    std::map<std::uint64_t, EndedCluster> ended; // by first row
    std::vector<std::vector<Page>> pages;        // by column
    std::vector<std::vector<Page>> waiting;      // journaled as rows
    std::uint64_t rows_seen = 0;                 // behind the last row of which anything is here
    std::optional<FinishRecord> finish;
    std::optional<std::string> abandoned;     // its worker ended on an exception: its text
    bool has_bad_pages = false;               // left out of `pages`
    std::optional<Ranges> kept;               // when the run was resumed: no other rows count
    std::vector<std::uint64_t> durable_items; // by column: a BARRIER covers the records of so many, from the first on
};

// Says where a page was announced, or where rows were journaled.
struct Announced {
    std::uint32_t producer;
    std::uint32_t column;
    std::size_t index;
    std::uint64_t record_end;
};

class JournalFacts {
  public:
    explicit JournalFacts(std::string path) : path_(std::move(path)) {}

    // Returns false if the record makes no sense: it is left out and noted, since a power cut may have taken the record
    // that would explain it.
    bool read(JournalRecord const& record);

    std::string const& path() const { return path_; }

    // Returns true if a BARRIER says that the page is on the disk.
    bool is_durable(Announced const& page) const { return page.record_end <= covered_bytes_; }
    bool has_barrier() const { return covered_bytes_ > 0; }
    // To be called once everything is read, and before pages are left out. `damaged`: where something is missing of the
    // journal.
    void find_durable_items(std::span<std::uint64_t const> damaged = {});
    // Forgets what lies in front of the seen beginnings, and which bytes of it are known. Rows of the journal go, too,
    // if their segment is gone: pages hold them, or a later segment.
    void drop_seen(std::function<bool(std::uint64_t address)> const& is_gone);
    // To be called if something durable was damaged: then it is not known what of the rest was durable.
    void forget_durable_items();

    std::optional<model::RunHead> head;
    std::map<std::uint32_t, ProducerFacts> producers;
    std::map<std::string, std::string> metadata;
    std::vector<UnitFacts> units;         // in the order in which they were journaled; each key once
    std::set<std::uint64_t> voided_pages; // by offset
    std::uint64_t footers_end = 0;        // of the room claimed for interim footers
    std::vector<RegionUse> regions;
    std::vector<Announced> announced;
    std::vector<Announced> announced_rows;
    std::vector<KnownBytes> known; // of the announced pages
    std::vector<std::string> notes;
    std::vector<std::string> lost;                   // when the run was resumed: rows may be missing, and why
    std::map<std::uint32_t, std::uint64_t> segments; // later ones that the journal needs, and where it says so
    JournalTally tally;
    bool closed = false;
    bool settled = false;         // all that was ever published is here
    std::uint64_t taken_back = 0; // records by which something earlier does not count any more, as in a resumed run
    bool keeps_pages = true;      // false: only what producers say about their ends and clusters is kept

  private:
    void read_behind_head(JournalRecord const& record);
    [[noreturn]] void fail(JournalRecord const& record, std::string const& why) const;
    template <typename Record> Record take(JournalRecord const& record, std::size_t at = 0) const;
    void read_head(JournalRecord const& record);
    void read_resumed(JournalRecord const& record);
    void read_producer(JournalRecord const& record);
    ProducerFacts& producer_of(std::uint32_t index, std::uint32_t column, JournalRecord const& record);
    // Checks that sizes fit together, so that no later step has to check them again.
    void check(Page const& page, std::size_t table, std::uint32_t column, JournalRecord const& record) const;
    void see(ProducerFacts& producer, std::uint32_t column, Page const& page) const;
    void read_pages(JournalRecord const& record);
    void read_rows(JournalRecord const& record);
    void read_finish(JournalRecord const& record);
    void read_abandoned(JournalRecord const& record);
    void read_barrier(JournalRecord const& record);
    void read_unit(JournalRecord const& record);
    void read_footer(JournalRecord const& record);
    void read_voided_unit(JournalRecord const& record);
    void read_metadata(JournalRecord const& record);
    void read_segment(JournalRecord const& record);
    void read_kept(JournalRecord const& record);
    void read_region(JournalRecord const& record);

    // Returns up to where the records are that were durable; nothing if that is not known.
    std::optional<std::uint64_t> durable_end(std::span<std::uint64_t const> damaged) const;

    std::string path_;
    std::uint64_t covered_bytes_ = 0, covered_before_ = 0; // by the last BARRIER, and by the one before
    std::uint64_t resumed_at_ = 0;
    std::uint64_t clusters_ = 0;
    std::map<UnitKey, std::size_t> unit_indices_;
};

} // namespace thalweg::dataset
