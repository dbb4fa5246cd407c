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

// Lets the timestamps of looped rows go on: one step for all tables, so that what was coincident stays so.
class LoopClock {
  public:
    // Throws base::UsageError where a table's timestamp is of a type that cannot go on.
    LoopClock(std::vector<std::shared_ptr<IndexedRows const>> const& tables, std::string const& timestamp);

    // From the earliest to the latest timestamp, and one mean interval.
    long double step() const { return step_; }
    // Of a table: its timestamps, if it has them.
    static std::optional<std::size_t> column_of(IndexedRows const& rows, std::string const& timestamp);
    void advance(std::span<std::byte> timestamps, model::Scalar scalar, std::uint64_t loops) const;

  private:
    long double step_ = 1;
};

} // namespace thalweg::source
