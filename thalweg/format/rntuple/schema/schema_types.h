// Column types of RNTuple, encodings of codec/root_codec.h, scalars of the model and names of C++: which belongs to
// which. For this folder's own .cc files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/model/schema.h"

namespace thalweg::format::rntuple {

// The meaning of the elements of a column in the model.
enum class ColumnContent : std::uint8_t { numbers, sums, alternatives };

struct ColumnFacts {
    ColumnType type;
    std::string_view encoding; // empty: it takes numbers of the column, too
    std::uint16_t bits;        // of an element on the disk; 0: the column tells
    ColumnContent content = ColumnContent::numbers;
    model::Scalar scalar = model::Scalar::uint64; // that an element decodes to
};

// Returns null for types that a later version of the specification may bring.
ColumnFacts const* facts_of(ColumnType type);
// Returns the column of a codec by its name, "root:splitint32+zstd-5". Throws base::UsageError.
ColumnFacts const& facts_of_codec(std::string_view codec);

// How RNTuple spells a type of C++ ("Type Name Normalization"). Complex numbers have no name.
std::string_view type_name_of(model::Scalar scalar);

// The encoding that ROOT takes for a type by default: `split` (and zigzag) where it compresses.
std::string_view default_encoding(model::Scalar scalar, bool split);

} // namespace thalweg::format::rntuple
