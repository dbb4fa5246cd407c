// What every segment of a journal begins with, and what tells a journal from other files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "thalweg/dataset/journal_format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// A file, whatever it is called: a copy is another one, a renamed one is the same. 0, 0: no file.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(FileId const&) const = default;
};

// Of the file at `path`; none where there is none.
std::optional<FileId> file_id_of(std::string const& path);

enum class JournalKind : std::uint8_t {
    journal,
    stub,          // its creator died before it was one: nothing was recorded
    other_version, // of Thalweg
    foreign,
};

struct JournalStart {
    JournalKind kind = JournalKind::foreign;
    std::string version; // of another version: the two digits of its magic
    JournalPreamble preamble{};
    std::string head_json; // of segment 0
};

JournalStart read_start(storage::Storage const& file);

// The same, for those who need a journal of ours. Throws base::UsageError that names both versions for a journal of
// another version, base::DataError for anything else.
JournalStart require_start(storage::Storage const& file);

// Writes the beginning of a journal, or of a later segment, whole. Returns where the records begin.
std::uint64_t write_start(storage::Storage& file, JournalPreamble preamble, std::string_view head_json);

JournalPreamble make_preamble(std::string const& run_id, std::uint32_t segment, FileId const& data_file);

} // namespace thalweg::dataset
