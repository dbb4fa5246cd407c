// What the rows of a history hold: every value follows from the table, who wrote it, and which of his rows it is.
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

// Column 0 of every table names the row.
struct RowName {
    std::uint64_t who = 0;
    std::uint64_t row = 0;

    std::uint64_t word() const { return who << 32 | row; }
    static RowName from(std::uint64_t word) { return {word >> 32, word & 0xffff'ffff}; }
};

model::Schema random_schema(Random& random);

// The rows [first, first + count) of somebody, as Producer::append wants them.
class Rows {
  public:
    Rows(std::vector<model::Column> const& columns, std::uint64_t table, std::uint64_t who, std::uint64_t first,
         std::uint64_t count);
    std::vector<std::span<std::byte const>> spans() const;
    std::vector<std::byte> const& column(std::size_t index) const { return bytes_[index]; }

  private:
    std::vector<std::vector<std::byte>> bytes_;
};

// Which rows of each producer are there, in their order, once every value was compared. What is wrong is `blamed`.
using FoundRows = std::map<std::uint64_t, std::vector<std::uint64_t>>; // by who
// Where the rows of each producer are cut into pages, in every column: values behind his first one. By who.
using Cuts = std::map<std::uint64_t, std::vector<std::vector<std::uint64_t>>>;
// The producers as their rows follow each other, and the value of each column with which each begins.
using Order = std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>;
FoundRows read_rows(dataset::Reader const& reader, std::size_t table, Order& order,
                    std::function<void(std::string const&)> const& blame);

struct Found {
    std::vector<FoundRows> tables;
    std::vector<std::int64_t> units; // keys of those that count
    // Of a run that is ordered by key, by table: whose rows come one behind the other, and how they are cut.
    std::vector<std::vector<std::uint64_t>> order = {};
    std::vector<Cuts> cuts = {};

    bool operator==(Found const&) const = default;
};
Found read_all(dataset::Reader const& reader, std::function<void(std::string const&)> const& blame);

} // namespace thalweg::simulator
