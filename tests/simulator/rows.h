// The contents of the rows of a history: every value follows from the table, its producer (`who`), and the number of
// the row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/random.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/model/schema.h"

namespace thalweg::simulator {

// Column 0 of every table holds the name of the row.
struct RowName {
    std::uint64_t who = 0;
    std::uint64_t row = 0;

    std::uint64_t word() const { return who << 32 | row; }
    static RowName from(std::uint64_t word) { return {word >> 32, word & 0xffff'ffff}; }
};

model::Schema random_schema(Random& random);

// The rows [first, first + count) of a producer, as Producer::append expects them.
class Rows {
  public:
    Rows(std::vector<model::Column> const& columns, std::uint64_t table, std::uint64_t who, std::uint64_t first,
         std::uint64_t count);
    std::vector<std::span<std::byte const>> spans() const;
    std::vector<std::byte> const& column(std::size_t index) const { return bytes_[index]; }

  private:
    std::vector<std::vector<std::byte>> bytes_;
};

// The rows of each producer that are there, in their order, after every value was compared. Faults go to `blame`.
using FoundRows = std::map<std::uint64_t, std::vector<std::uint64_t>>; // by producer or try
// The places where the rows of each producer are cut into pages, in every column: values counted from its first one.
using Cuts = std::map<std::uint64_t, std::vector<std::vector<std::uint64_t>>>;
// The producers in the order of their rows, and the value of each column with which each producer begins.
using Order = std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>;
FoundRows read_rows(dataset::Reader const& reader, std::size_t table, Order& order,
                    std::function<void(std::string const&)> const& blame);

struct Found {
    std::vector<FoundRows> tables;
    std::vector<std::int64_t> units; // keys of the units that count
    // For a run that is ordered by key, by table: the order of the producers, and the cuts of their rows.
    std::vector<std::vector<std::uint64_t>> order = {};
    std::vector<Cuts> cuts = {};

    bool operator==(Found const&) const = default;
};
Found read_all(dataset::Reader const& reader, std::function<void(std::string const&)> const& blame);

} // namespace thalweg::simulator
