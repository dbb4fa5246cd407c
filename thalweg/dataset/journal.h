// The journal is the run until the run is closed: everything that close, recover and readers of an open run know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/journal_format.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Throws base::SystemError where that cannot be told.
bool exists(std::string const& path);

std::string journal_path(std::string const& data_path);

// The run that the journal at `path` belongs to; nothing where there is no readable journal.
std::optional<std::string> journal_run_id(std::string const& path);

// What the run was created with. Throws base::DataError where the first record is missing or damaged.
model::RunHead read_head(storage::Storage const& journal);

// Appends records; of one thread. Every call throws base::SystemError naming the journal when its bytes cannot be
// written.
class JournalWriter {
  public:
    // `file`: empty; a head is written.
    static JournalWriter begin(std::shared_ptr<storage::Storage> file, std::string const& head_json);
    // Goes on behind the last good record of an existing journal.
    static JournalWriter resume(std::shared_ptr<storage::Storage> file);

    void append(RecordType type, std::span<std::byte const> payload, std::span<std::byte const> more = {});
    template <typename Record>
    void append(RecordType type, Record const& record, std::span<std::byte const> more = {}) {
        append(type, std::as_bytes(std::span(&record, 1)), more);
    }
    void append_json(RecordType type, std::string_view json) { append(type, std::as_bytes(std::span(json))); }

    std::uint64_t size_bytes() const { return end_; }
    void sync();
    // Keeps the next bytes free, so that a full disk does not stop the journal in the middle of a run.
    void reserve_ahead(std::uint64_t size_bytes);

  private:
    JournalWriter(std::shared_ptr<storage::Storage> file, std::uint64_t end) : file_(std::move(file)), end_(end) {}

    std::shared_ptr<storage::Storage> file_;
    std::uint64_t end_;
    std::uint64_t reserved_ = 0;
    std::vector<std::byte> scratch_;
};

// One record as it is met. `payload` is valid only during the call.
struct RecordView {
    RecordType type;
    std::span<std::byte const> payload;
    std::uint64_t payload_offset; // in the journal
    std::uint64_t end_offset;
};

struct JournalDamage {
    std::uint64_t damaged_records = 0; // in the middle: their content is lost, what follows is not
    std::uint64_t end_offset = 0;      // behind the last good record
    std::string reason;                // of the first damage, with its offset; empty when there was none
};

// Walks over all good records, until `visit` returns false or there are no more. Throws base::DataError where the file
// is no journal at all; what is behind the last good record is reported, not thrown: a torn end is what a crash leaves.
JournalDamage read_journal(storage::Storage const& file, std::function<bool(RecordView const&)> const& visit);

} // namespace thalweg::dataset
