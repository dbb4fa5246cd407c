// Encodes pages of one table: every column by its own codec, lengths as running sums where the container wants those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/codec/codec.h"
#include "thalweg/model/column.h"
#include "thalweg/model/layout.h"

namespace thalweg::dataset {

// Not thread-safe.
class TableEncoder {
  public:
    TableEncoder(std::vector<model::Column> const& columns, model::TableLayout const& layout);

    // Pages of the column are stored as their raw items.
    bool is_raw(std::size_t column) const { return codecs_[column] == nullptr && !has_sums_[column]; }

    // Room for a page of so many raw bytes, encoded or not.
    std::size_t bound_bytes(std::size_t column, std::size_t raw_bytes) const;

    struct Encoded {
        std::size_t stored_bytes = 0;
        bool by_codec = false; // no: the stored bytes are the raw ones
    };
    // `sum_before`: of a lengths column, of the lengths in front of the page in its cluster.
    Encoded encode(std::size_t column, std::span<std::byte const> raw, std::uint64_t sum_before,
                   std::span<std::byte> out);

  private:
    std::span<std::byte const> sums_of(std::span<std::byte const> lengths, std::uint64_t sum_before);

    std::vector<std::unique_ptr<codec::Codec>> codecs_; // by column; none where pages are stored raw
    std::vector<bool> has_sums_;                        // by column
    std::vector<std::uint64_t> sums_;                   // of the page that is being encoded
};

} // namespace thalweg::dataset
