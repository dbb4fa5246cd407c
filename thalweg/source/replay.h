// Rows that were recorded once, handed out again: as they are, or looped as if the run had gone on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/source/source.h"

namespace thalweg::source {

// A table in memory. columns[i] are all items of column i of model::flatten(table).
struct RowSet {
    model::Table table;
    std::uint64_t rows = 0;
    std::vector<std::vector<std::byte>> columns;
};

struct ReplayOptions {
    std::uint64_t loops = 1; // 0: endless
    // Path of the column that goes on from loop to loop (uint64, int64 or float64); a table without it just repeats.
    // Each loop adds the time from the earliest to the latest timestamp of all tables, and one mean interval. Rows
    // keep their order, also where their timestamps are not sorted.
    std::string timestamp = "timestamp";
    std::uint64_t batch_bytes = 1 << 20;         // about
    std::map<std::string, std::string> metadata; // what to say of the input
    std::vector<model::LeftOut> left_out;        // of the input
    model::Attributes attributes;                // of the input as a whole
    std::vector<model::Group> groups;            // of the input, beside its tables
};

// One stream a row set. Throws base::UsageError for row sets whose columns do not fit their table.
std::unique_ptr<Source> make_replay(std::vector<RowSet> tables, ReplayOptions const& options);

} // namespace thalweg::source
