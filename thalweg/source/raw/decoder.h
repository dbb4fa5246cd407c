// Turns rows into columns, and looks at their sequence.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/source/raw/column_maker.h"
#include "thalweg/source/raw/counting.h"

namespace thalweg::source::raw {

class Decoder {
  public:
    explicit Decoder(Row const& row);

    // Returns the columns in the order of model::flatten(table_of(row)). They stay until the next call, and as long as
    // the rows stay: values of a single row that are stored as they came are not copied.
    std::span<std::span<std::byte const> const> decode(Rows const& rows);

    // Returns the sequence check; nullptr if no field has this role.
    SequenceCheck* sequence() const { return sequence_.get(); }

  private:
    void check_sequence(Rows const& rows);

    RowShape shape_;
    std::vector<std::unique_ptr<ColumnMaker>> makers_;
    std::vector<std::span<std::byte const>> columns_;
    std::unique_ptr<SequenceCheck> sequence_;
    std::size_t sequence_offset_ = 0, sequence_bytes_ = 0;
    bool sequence_is_big_endian_ = false;
};

} // namespace thalweg::source::raw
