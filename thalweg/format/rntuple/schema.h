// Fields and columns of an RNTuple <-> a table of the model.
#pragma once

#include <string>
#include <vector>

#include "thalweg/format/rntuple/descriptions.h"
#include "thalweg/model/run.h"

namespace thalweg::format::rntuple {

// The codec (codec/root_codec.h) of a column's pages for what the user asked for: "zstd-5", "lz4", "deflate-1" (zlib),
// "none", or with "plain+" in front: without split, zigzag and delta. Throws base::UsageError.
std::string codec_of(model::Column const& column, std::string const& wish);

// The same schema with what RNTuple has no type for replaced by what it has: complex numbers become structs of `real`
// and `imag` with the type name "complex64" or "complex128". Throws base::UsageError naming table and field where
// RNTuple has nothing: names with '.', '/', '\\', spaces or control characters.
model::Schema storable(model::Schema const& schema);

// The fields and physical columns of a table: one column for each of model::flatten(table), in that order.
SchemaDescription describe(model::Table const& table, model::TableLayout const& layout);

// A table that somebody else described, and how its pages are to be read.
struct ForeignTable {
    model::Table table;
    std::vector<model::Column> columns; // flatten(table)
    model::TableLayout layout;          // page_items: of the largest page met; codec: of that column
    // Of each column of the model: the physical column it is read from, and how.
    struct Source {
        std::size_t physical = 0;
        bool sums = false; // an index column: cluster-relative running sums
    };
    std::vector<Source> sources;
    std::vector<std::string> notes; // what was left out, and why: streamed objects, say
};

// Every field of the specification but streamed objects (which are left out with a note):
// - std::vector, std::set, RVec, maps and untyped collections are lists; std::pair, std::tuple, classes and untyped
//   records are structs (base classes, whose names begin with ':', too); std::array, std::bitset have a shape;
// - std::optional and std::unique_ptr are lists of 0 or 1 with that type name; a std::variant is a struct of such
//   lists, one for each alternative, whose lengths come from the switch column;
// - enums and atomics are their underlying value; RNTupleCardinality is a uint64 read from an index column.
// `schema` is header and extension together. The type names of the file are kept in Field::type_name.
// Throws base::DataError naming table, field and reason.
ForeignTable read_table(std::string const& name, Header const& header, SchemaDescription const& schema);

} // namespace thalweg::format::rntuple
