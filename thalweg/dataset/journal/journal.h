// The journal is the run until the run is closed: close, recover and readers of an open run know nothing else about it.
//
// A journal is one main file, which stays for the whole run, and later segments, which hold rows that are in no page
// yet. Each file begins with a preamble (journal_preamble.h); records follow, each with a head, a checksum of that head
// and a checksum of its payload (journal_format.h, docs/formats/journal.md).
//
// States of a journal, and the function that makes each transition:
//
//     stub      A creation has begun it. Nothing was recorded, and the next creation or `recover` clears it away.
//        |      JournalWriter::begin: preamble and head, twice, and a sync
//        v
//     open      The committer appends records, and after each flush a BARRIER.
//        |      take_over: appends what producers had left in memory, and SETTLED if that is all
//        v
//     settled   All that was ever published is in it.
//        |      complete_run: CLOSED, after the last write of the file
//        v
//     closed    The file is complete. RunPlace::remove_journal removes the journal, the main file first.
//
// A run that is resumed goes from "open" or "settled" back to "open" (Writer::resume, by a RESUMED record).
//
// A reader trusts:
//
//     before the last BARRIER   Pages and rows are durable, and are believed without being read. If a record is damaged
//                               all the same, but none that the BARRIER before covers, the last sync failed: what that
//                               one covers is durable. Else the disk has failed, and nothing counts as durable any
//                               more.
//     after the last BARRIER    While the run is open: everything, since the kernel has it. After it has ended: a power
//                               cut may have taken any of it, so that pages are compared with their checksums.
//     in a copy                 Nothing that the file does not say itself: the copy may be older than its journal.
//
// Invariants:
//
//  1. A record is there as a whole or not at all: its head and its payload have checksums, and it begins at a multiple
//  of
//     8 bytes.
//  2. Records are only appended. What lies behind the last good record is cut off before the next one is appended.
//  3. A BARRIER covers only records whose pages and later segments were synced before it was appended. It counts once
//  it
//     is on the disk itself, after the next sync of the main file.
//  4. A later segment is removed only after pages that hold its rows are covered by a BARRIER that is on the disk
//     (rows_in_use.h). Its SEGMENT record says so before.
//  5. A reader of the journal of an open run may meet a record that is just being written. Damage in front of a good
//     record is believed only after a second reading.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/dataset/journal/journal_moment.h"
#include "thalweg/dataset/journal/journal_preamble.h"
#include "thalweg/dataset/journal/journal_rows.h"
#include "thalweg/dataset/journal/journal_segments.h"
#include "thalweg/dataset/journal/journal_tally.h"
#include "thalweg/dataset/journal/journal_walk.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Throws base::SystemError if that cannot be told.
bool exists(std::string const& path);

std::string journal_path(std::string const& data_path);

// Returns the run that the journal at `path` belongs to; nothing if there is no readable journal.
std::optional<std::string> journal_run_id(std::string const& path);

// Returns what the run was created with. Throws like require_start.
model::RunHead read_head(JournalFiles const& files);
model::RunHead read_head(storage::Storage const& journal);

// Limits how much a journal may take. The room that its rows need comes on top, up to twice.
struct JournalLimits {
    std::uint64_t main_rows_bytes = 8 << 20; // of rows in the main journal, which stay there
    std::uint64_t segment_bytes = 8 << 20;   // a later segment ends behind this
    std::uint64_t slack_bytes = 24 << 20;    // of rows that are needed no more, in later segments
};

// Appends records. One thread uses it; sync() may be called by another. Every call throws base::SystemError that names
// the file if its bytes cannot be written.
class JournalWriter {
  public:
    // `files`: an empty one; a head is written.
    static JournalWriter begin(JournalFiles const& files, std::string const& head_json, DataFile const& data_file = {},
                               JournalLimits const& limits = {}, NodeOfRun const& node = {});
    // Goes on behind the last good record of an existing journal. `known_end`: a good record ends there, so that only
    // what follows is walked over; 0: none is known.
    static JournalWriter resume(JournalFiles const& files, JournalLimits const& limits = {},
                                std::uint64_t known_end = 0);

    JournalWriter(JournalWriter&&) noexcept;
    JournalWriter& operator=(JournalWriter&&) noexcept;
    ~JournalWriter();

    // Rows are gathered until another record follows, or they are many.
    void append(RecordType type, std::span<std::byte const> payload, std::span<std::byte const> more = {});
    template <typename Record>
    requires(!std::convertible_to<Record, std::span<std::byte const>>) void append(
        RecordType type, Record const& record, std::span<std::byte const> more = {}) {
        append(type, std::as_bytes(std::span(&record, 1)), more);
    }
    void append_json(RecordType type, std::string_view json) { append(type, std::as_bytes(std::span(json))); }

    // Keeps all rows from now on in the main journal: no page will ever hold them.
    void keep_rows_in_main();

    // Returns the size of the main journal with all that was appended, which is what a BARRIER counts.
    std::uint64_t size_bytes();
    // Returns where all its files end, with all that was appended.
    JournalMoment moment();
    // Returns the size of all segments.
    std::uint64_t total_bytes() const;
    // Returns what the main journal announces, also in front of where this writer began.
    JournalTally tally() const;
    // May be called by another thread while this one appends.
    void sync();
    // Keeps the next bytes free, so that a full disk does not stop the journal in the middle of a run.
    void reserve_ahead(std::uint64_t size_bytes);

  private:
    class State;
    explicit JournalWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// One record as it is met, in the order in which all were appended. `payload` is valid only during the call: of pages
// any number of PageRecords, of rows one RowsRecord, whose items lie in the JournalRows.
struct JournalRecord {
    RecordType type;
    std::span<std::byte const> payload;
    std::uint64_t payload_offset; // in its segment
    std::uint64_t end_offset;     // in the main journal; of rows: its end when they were journaled
    std::uint64_t items_address = 0;
    std::uint64_t items_bytes = 0;
};

// How far a journal was read while its run is being written. Later segments stay open: what was removed since can still
// be read.
struct JournalPosition {
    struct Segment {
        std::shared_ptr<storage::Storage> file;
        std::uint64_t end_offset = 0;
    };
    std::uint64_t end_offset = 0; // in the main journal; 0: nothing was read
    std::map<std::uint32_t, Segment> segments;
};

// Walks over all good records, the head first, until `visit` returns false or there are no more. Throws like
// require_start. `rows`: gets all items; `found`: the later segments that are there. Can be done while the run is being
// written. `position`: only what lies behind it is read, and it moves on.
JournalDamage read_journal(JournalFiles const& files, std::function<bool(JournalRecord const&)> const& visit,
                           JournalRows* rows = nullptr, std::set<std::uint32_t>* found = nullptr,
                           JournalPosition* position = nullptr);

} // namespace thalweg::dataset
