// What the records of a journal say, put together by producer. Nothing is judged here beyond what makes no sense.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

struct ProducerFacts {
    std::size_t table = 0;
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

// Where a page was announced, or rows were journaled.
struct Announced {
    std::uint32_t producer;
    std::uint32_t column;
    std::size_t index;
    std::uint64_t record_end;
};

class JournalFacts {
  public:
    explicit JournalFacts(std::string path) : path_(std::move(path)) {}

    // What makes no sense is left out and noted: a power cut may have taken the record that would explain it.
    bool read(RecordView const& record);

    std::string const& path() const { return path_; }

    // Whether a BARRIER says that the page is on the disk.
    bool is_durable(Announced const& page) const { return page.record_end <= covered_bytes_; }
    bool has_barrier() const { return covered_bytes_ > 0; }
    // Whether what the journal says there was durable, since the run was resumed last.
    bool was_durable(std::uint64_t offset) const { return resumed_at_ <= offset && offset < covered_bytes_; }
    // Once everything is read, and before pages are left out.
    void find_durable_items();
    // Something durable was damaged: then nobody knows what of the rest was.
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
    bool closed = false;
    bool settled = false; // all that was ever published is here

  private:
    void read_behind_head(RecordView const& record);
    [[noreturn]] void fail(RecordView const& record, std::string const& why) const;
    template <typename Record> Record take(RecordView const& record, std::size_t at = 0) const;
    void read_head(RecordView const& record);
    void read_resumed(RecordView const& record);
    void read_producer(RecordView const& record);
    ProducerFacts& producer_of(std::uint32_t index, std::uint32_t column, RecordView const& record);
    // Sizes that fit together, so that nobody behind us has to ask again.
    void check(Page const& page, std::size_t table, std::uint32_t column, RecordView const& record) const;
    void see(ProducerFacts& producer, std::uint32_t column, Page const& page) const;
    void read_pages(RecordView const& record);
    void read_rows(RecordView const& record);
    void read_finish(RecordView const& record);
    void read_abandoned(RecordView const& record);
    void read_barrier(RecordView const& record);
    void read_unit(RecordView const& record);
    void read_footer(RecordView const& record);
    void read_voided_unit(RecordView const& record);
    void read_metadata(RecordView const& record);
    void read_segment(RecordView const& record);
    void read_kept(RecordView const& record);
    void read_region(RecordView const& record);

    std::string path_;
    std::uint64_t covered_bytes_ = 0;
    std::uint64_t resumed_at_ = 0;
    std::uint64_t clusters_ = 0;
    std::map<UnitKey, std::size_t> unit_indices_;
};

} // namespace thalweg::dataset
