#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/source/indexed_rows.h"

namespace thalweg::source {

// Continues the timestamps of looped rows: one step for all tables, so that coincident rows stay coincident.
class LoopClock {
  public:
    // Throws base::UsageError if a table's timestamp has a type that cannot be continued.
    LoopClock(std::vector<std::shared_ptr<IndexedRows const>> const& tables, std::string const& timestamp);

    // Returns the time from the earliest to the latest timestamp, plus one mean interval.
    long double step() const { return step_; }
    // Returns the timestamp column of a table, if it has one.
    static std::optional<std::size_t> column_of(IndexedRows const& rows, std::string const& timestamp);
    void advance(std::span<std::byte> timestamps, model::Scalar scalar, std::uint64_t loops) const;

  private:
    long double step_ = 1;
};

} // namespace thalweg::source
