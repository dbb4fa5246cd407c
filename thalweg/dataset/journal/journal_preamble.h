// Reads and writes the beginning of a segment of a journal, which tells a journal from other files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

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

// Returns the same of a journal. Throws base::UsageError that names both versions for a journal of another version, and
// base::DataError for anything else.
JournalStart require_start(storage::Storage const& file);
// Throws as `require_start` does.
void check_start(JournalStart const& start, std::string const& path);

// Writes the beginning of a journal, or of a later segment, whole. Returns where the records begin.
std::uint64_t write_start(storage::Storage& file, JournalPreamble preamble, std::string_view head_json);

// Says which node of how many writes a run, from 0.
struct NodeOfRun {
    std::uint32_t node = 0;
    std::uint32_t nodes = 1;

    bool operator==(NodeOfRun const&) const = default;
};

// What a data file is, whatever its name. The number of its device may be another one each time its file system is
// mounted, and a copy may have its inode.
struct DataFile {
    base::FileIdentity identity = {}; // 0, 0: no file
    std::uint32_t birth = 0;
};

// Returns nothing, all 0, if there is no such file.
DataFile data_file_at(std::string const& path);

// Returns a mark of the moment at which the file was made, which its file system keeps: other files have another one.
// Returns 0 if the file system does not keep it. Throws base::SystemError if it cannot be asked.
std::uint32_t birth_mark(std::string const& path);

JournalPreamble make_preamble(std::string const& run_id, std::uint32_t segment, DataFile const& data_file,
                              NodeOfRun const& node = {});

inline NodeOfRun node_of(JournalPreamble const& preamble) { return {preamble.node, preamble.nodes}; }

} // namespace thalweg::dataset
