// RNTuples of several files, one behind the other in a new file: their clusters are copied as they are, their page
// lists and footers are made anew.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/storage/steady_file.h"

namespace thalweg::format::rntuple {

// An input. Its file is open only while it is read: there may be more inputs than files that a process may have open.
struct MergeInput {
    std::string path;
    storage::FileStamp state;
    NTupleFile content;

    // Throws base::DataError if it is another file by now, or has changed.
    std::unique_ptr<storage::Storage> open() const;
};
MergeInput read_input(std::string const& path);

// The text that is kept beside the RNTuples.
struct MergedText {
    // Head, metadata and work units of a file that Thalweg wrote.
    std::optional<model::RunHead> head;
    std::map<std::string, std::string> metadata;
    std::vector<std::byte> units;
    // The text of any other file, which is all that such a file has.
    NamedText text;
    std::string seed; // of the UUIDs
    std::uint64_t created_s = 0;
};

struct MergedTable {
    std::string name;
    std::uint64_t rows = 0;
    std::uint64_t clusters = 0;
    std::uint64_t pages = 0;
};

struct MergedTables {
    std::vector<MergedTable> tables;
    std::uint64_t copied_bytes = 0;
    std::uint64_t file_bytes = 0;
};

// Throws base::UsageError naming two files and the first difference where the tables of all are not those of the first,
// or have other fields or columns; and where columns were added while an input was written, behind its first row.
void check_alike(std::vector<MergeInput> const& inputs);

// Writes all of `out`, which is complete and durable afterwards. The inputs are alike. The tables of the file `beside`,
// if there is one, come behind those of the inputs, which have no tables of these names. `while_copying` is called once
// a cluster, and may throw. Throws base::DataError naming file, table and row where a page is damaged.
MergedTables merge(std::vector<MergeInput>& inputs, std::optional<MergeInput>& beside, storage::Storage& out,
                   MergedText const& text, std::function<void()> const& while_copying);

} // namespace thalweg::format::rntuple
