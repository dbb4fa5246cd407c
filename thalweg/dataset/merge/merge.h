// Several complete files become one, without a page being decompressed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct MergeOptions {
    bool force = false;                       // a file of that name is replaced
    std::function<void()> while_copying = {}; // called now and then; may throw
    // Entries of the metadata of the result, if all inputs are Thalweg's. They replace those that the inputs share.
    std::map<std::string, std::string> metadata = {};
    // A complete file of Thalweg's, whose tables the result has, too. No input has tables of these names. Empty: none.
    std::string beside = {};
};

struct MergedTableReport {
    std::string table;
    std::uint64_t rows = 0;
    std::uint64_t clusters = 0;
    std::uint64_t pages = 0;
};

struct MergeResult {
    std::string path;
    std::vector<MergedTableReport> tables;
    std::uint64_t units = 0;
    std::uint64_t copied_bytes = 0; // of pages, with their checksums
    std::uint64_t file_bytes = 0;
    std::vector<model::LeftOut> left_out; // of the inputs, each with its file
};

// Writes to `out` the rows of the RNTuples of all inputs, which may be ROOT's, in the order of the inputs; `out` has
// its name only when it is complete and durable. If all inputs are Thalweg's, so is the result: schema and
// attributes of the first, the work units of all, metadata that is the same in all, and under 'merge' what each input
// had. If not, that list is a TObjString of the name 'merge', and other objects are left out. Throws
// base::UsageError if inputs have other tables, fields or columns than the first, are still being written, are given
// twice or no RNTuples, or there is no place for `out`; base::DataError naming file, table and row if one is
// damaged.
MergeResult merge(std::vector<std::string> const& inputs, std::string const& out, MergeOptions const& options = {});

} // namespace thalweg::dataset
