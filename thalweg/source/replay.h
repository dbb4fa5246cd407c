// Hands out recorded rows again: once, or in loops as if the run had gone on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/source/source.h"

namespace thalweg::source {

// A table in memory. columns[i] holds all items of column i of model::flatten(table).
struct RowSet {
    model::Table table;
    std::uint64_t rows = 0;
    std::vector<std::vector<std::byte>> columns;
};

struct ReplayOptions {
    std::uint64_t loops = 1; // 0: without end
    // The path of the column that continues from loop to loop (uint64, int64 or float64). A table without it repeats.
    // Each loop adds the time from the earliest to the latest timestamp of all tables, plus one mean interval. Rows
    // keep their order, even if their timestamps are not sorted.
    std::string timestamp = "timestamp";
    std::uint64_t batch_bytes = 1 << 20;         // approximately
    std::map<std::string, std::string> metadata; // what to note of the input
    std::vector<model::LeftOut> left_out;        // of the input
    model::Attributes attributes;                // of the input as a whole
    std::vector<model::TableGroup> groups;       // of the input, beside its tables
};

// Makes a source with one stream per row set. Throws base::UsageError if columns do not fit their table.
std::unique_ptr<Source> make_replay(std::vector<RowSet> tables, ReplayOptions const& options);

} // namespace thalweg::source
