// The journal is the run until the run is closed: everything that close, recover and readers of an open run know.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/dataset/journal/journal_preamble.h"
#include "thalweg/dataset/journal/journal_rows.h"
#include "thalweg/dataset/journal/journal_segments.h"
#include "thalweg/dataset/journal/journal_walk.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Throws base::SystemError where that cannot be told.
bool exists(std::string const& path);

std::string journal_path(std::string const& data_path);

// The run that the journal at `path` belongs to; nothing where there is no readable journal.
std::optional<std::string> journal_run_id(std::string const& path);

// Returns what the run was created with. Throws like require_start.
model::RunHead read_head(JournalFiles const& files);
model::RunHead read_head(storage::Storage const& journal);

// How much a journal may take; what its rows need comes on top, up to twice.
struct JournalLimits {
    std::uint64_t main_rows_bytes = 8 << 20; // of rows in the main journal, which stay there
    std::uint64_t segment_bytes = 8 << 20;   // a later segment ends behind this
    std::uint64_t slack_bytes = 24 << 20;    // of rows that nobody needs any more, in later segments
};

// Appends records; of one thread, but for sync(). Every call throws base::SystemError naming the file when its bytes
// cannot be written.
class JournalWriter {
  public:
    // `files`: an empty one; a head is written.
    static JournalWriter begin(JournalFiles const& files, std::string const& head_json,
                               base::FileIdentity const& data_file = {}, JournalLimits const& limits = {},
                               NodeOfRun const& node = {});
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

    // All rows from now on stay in the main journal: no page will ever hold them.
    void keep_rows_in_main();

    // Of the main journal, with all that was appended: what a BARRIER counts.
    std::uint64_t size_bytes();
    // Of all segments.
    std::uint64_t total_bytes() const;
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
struct RecordView {
    RecordType type;
    std::span<std::byte const> payload;
    std::uint64_t payload_offset; // in its segment
    std::uint64_t end_offset;     // in the main journal; of rows: where it ended when they were journaled
    std::uint64_t items_address = 0;
    std::uint64_t items_bytes = 0;
};

// Walks over all good records, the head first, until `visit` returns false or there are no more. Throws like
// require_start. `rows`: gets all items; `found`: the later segments that were read. Can be done while the run is being
// written.
JournalDamage read_journal(JournalFiles const& files, std::function<bool(RecordView const&)> const& visit,
                           JournalRows* rows = nullptr, std::set<std::uint32_t>* found = nullptr);

} // namespace thalweg::dataset
