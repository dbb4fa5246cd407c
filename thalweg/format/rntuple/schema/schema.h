// Fields and columns of an RNTuple <-> a table of the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/model/run.h"

namespace thalweg::format::rntuple {

// The codec (codec/root_codec.h) of a column's pages for what the user asked for: "zstd-5", "lz4", "deflate-1" (zlib),
// "none", or with "plain+" in front: without split, zigzag and delta. Throws base::UsageError.
std::string codec_of(model::Column const& column, std::string const& wish);

// The same schema with what RNTuple has no type for replaced by what it has: complex numbers become structs of `real`
// and `imag` with the type name "complex64" or "complex128". Throws base::UsageError naming table and field where
// RNTuple has nothing: names with '.', '/', '\\', spaces or control characters.
model::Schema storable(model::Schema const& schema);

// The fields and physical columns of a table: one column for each of model::flatten(table), in that order, of the type
// that its codec in `layout` has. Lists and structs have the type names that Field::type_name gives, or else
// std::vector and a name made of table and field ("events::hits"): JSROOT reads no collection or record without one.
SchemaDescription describe(model::Table const& table, model::TableLayout const& layout);

// A table of another program, and how its pages are read.
struct ForeignTable {
    // One form in which a column may be stored.
    struct Representation {
        std::size_t physical = 0; // its index among the columns of header and extension
        std::string codec;        // without compression: the pages tell
        // As in ColumnDescription: elements in front of it are zeros; of a negative one they are not there at all.
        std::optional<std::int64_t> first_element;

        bool operator==(Representation const&) const = default;
    };
    // The origin of the items of each column of the model.
    struct Source {
        // In each cluster exactly one is not suppressed. All decode to the column's scalar.
        std::vector<Representation> representations;
        bool sums = false; // they hold running sums, begun at 0 with each cluster

        bool operator==(Source const&) const = default;
    };
    model::Table table; // without fields where nothing of it can be read
    std::vector<model::Column> columns;
    model::TableLayout layout; // page_items: 0, for only the page lists tell; codec: of the first representation
    std::vector<Source> sources;
    std::vector<model::LeftOut> left_out; // streamed objects, say
};

// Every field of the specification but streamed objects (which are left out, and listed):
// - std::vector, std::set, RVec, maps and untyped collections are lists; std::pair, std::tuple, classes and untyped
//   records are structs (base classes, whose names begin with ':', too); std::array, std::bitset have a shape;
// - std::optional and std::unique_ptr are lists of 0 or 1 with that type name; a std::variant is a struct of
//   std::optional, one for each alternative, whose lengths come from the switch column;
// - enums and atomics are their underlying value; RNTupleCardinality is a uint64 read from an index column.
// `schema` is header and extension together. Field::type_name keeps what the file calls a list, a struct, or a number
// that has another name than ours.
// Throws base::DataError naming table, field and reason.
ForeignTable read_table(std::string const& name, Header const& header, SchemaDescription const& schema);

} // namespace thalweg::format::rntuple
