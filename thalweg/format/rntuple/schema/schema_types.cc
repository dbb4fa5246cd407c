#include "thalweg/format/rntuple/schema/schema_types.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format::rntuple {
namespace {

using model::Scalar;
using enum ColumnType;

constexpr std::array kColumns = {ColumnFacts{bit, "bit", 1, ColumnContent::numbers, Scalar::boolean},
                                 ColumnFacts{byte, "byte", 8, ColumnContent::numbers, Scalar::uint8},
                                 ColumnFacts{character, "char", 8, ColumnContent::numbers, Scalar::uint8},
                                 ColumnFacts{ColumnType::int8, "int8", 8, ColumnContent::numbers, Scalar::int8},
                                 ColumnFacts{ColumnType::uint8, "uint8", 8, ColumnContent::numbers, Scalar::uint8},
                                 ColumnFacts{ColumnType::int16, "int16", 16, ColumnContent::numbers, Scalar::int16},
                                 ColumnFacts{ColumnType::uint16, "uint16", 16, ColumnContent::numbers, Scalar::uint16},
                                 ColumnFacts{ColumnType::int32, "int32", 32, ColumnContent::numbers, Scalar::int32},
                                 ColumnFacts{ColumnType::uint32, "uint32", 32, ColumnContent::numbers, Scalar::uint32},
                                 ColumnFacts{ColumnType::int64, "int64", 64, ColumnContent::numbers, Scalar::int64},
                                 ColumnFacts{ColumnType::uint64, "uint64", 64, ColumnContent::numbers, Scalar::uint64},
                                 ColumnFacts{real16, "real16", 16, ColumnContent::numbers, Scalar::float32},
                                 ColumnFacts{real32, "real32", 32, ColumnContent::numbers, Scalar::float32},
                                 ColumnFacts{real64, "real64", 64, ColumnContent::numbers, Scalar::float64},
                                 ColumnFacts{index32, "index32", 32, ColumnContent::sums},
                                 ColumnFacts{index64, "index64", 64, ColumnContent::sums},
                                 ColumnFacts{switch_, "", 96, ColumnContent::alternatives},
                                 ColumnFacts{split_int16, "splitint16", 16, ColumnContent::numbers, Scalar::int16},
                                 ColumnFacts{split_uint16, "splituint16", 16, ColumnContent::numbers, Scalar::uint16},
                                 ColumnFacts{split_int32, "splitint32", 32, ColumnContent::numbers, Scalar::int32},
                                 ColumnFacts{split_uint32, "splituint32", 32, ColumnContent::numbers, Scalar::uint32},
                                 ColumnFacts{split_int64, "splitint64", 64, ColumnContent::numbers, Scalar::int64},
                                 ColumnFacts{split_uint64, "splituint64", 64, ColumnContent::numbers, Scalar::uint64},
                                 ColumnFacts{split_real16, "splitreal16", 16, ColumnContent::numbers, Scalar::float32},
                                 ColumnFacts{split_real32, "splitreal32", 32, ColumnContent::numbers, Scalar::float32},
                                 ColumnFacts{split_real64, "splitreal64", 64, ColumnContent::numbers, Scalar::float64},
                                 ColumnFacts{split_index32, "splitindex32", 32, ColumnContent::sums},
                                 ColumnFacts{split_index64, "splitindex64", 64, ColumnContent::sums},
                                 ColumnFacts{real32_truncated, "", 0, ColumnContent::numbers, Scalar::float32},
                                 ColumnFacts{real32_quantized, "", 0, ColumnContent::numbers, Scalar::float32}};

// A type in C++, and the encodings of its columns.
struct TypeName {
    std::string_view name;
    std::string_view plain;
    std::string_view split;
};

TypeName type_of(Scalar scalar) {
    switch (scalar) {
    case Scalar::boolean:
        return {"bool", "bit", "bit"};
    case Scalar::int8:
        return {"std::int8_t", "int8", "int8"};
    case Scalar::int16:
        return {"std::int16_t", "int16", "splitint16"};
    case Scalar::int32:
        return {"std::int32_t", "int32", "splitint32"};
    case Scalar::int64:
        return {"std::int64_t", "int64", "splitint64"};
    case Scalar::uint8:
        return {"std::uint8_t", "uint8", "uint8"};
    case Scalar::uint16:
        return {"std::uint16_t", "uint16", "splituint16"};
    case Scalar::uint32:
        return {"std::uint32_t", "uint32", "splituint32"};
    case Scalar::uint64:
        return {"std::uint64_t", "uint64", "splituint64"};
    case Scalar::float32:
        return {"float", "real32", "splitreal32"};
    case Scalar::float64:
        return {"double", "real64", "splitreal64"};
    case Scalar::complex64:
    case Scalar::complex128:
        break;
    }
    base::fail_usage({fmt::format("RNTuple has no type for {}", name_of(scalar)), "", "store real and imag"});
}

} // namespace

ColumnFacts const* facts_of(ColumnType type) {
    auto const found = std::ranges::find(kColumns, type, &ColumnFacts::type);
    return found == kColumns.end() ? nullptr : &*found;
}

ColumnFacts const& facts_of_codec(std::string_view codec) {
    constexpr std::string_view kPrefix = "root:";
    auto const encoding =
        codec.starts_with(kPrefix) ? codec.substr(kPrefix.size(), codec.find('+') - kPrefix.size()) : "";
    auto const found = std::ranges::find(kColumns, encoding, &ColumnFacts::encoding);
    if (found == kColumns.end() || encoding.empty()) {
        base::fail_usage({fmt::format("codec '{}' is none that columns of an RNTuple are written with", codec)});
    }
    return *found;
}

std::string_view type_name_of(Scalar scalar) { return type_of(scalar).name; }

std::string_view default_encoding(Scalar scalar, bool split) {
    return split ? type_of(scalar).split : type_of(scalar).plain;
}

} // namespace thalweg::format::rntuple
