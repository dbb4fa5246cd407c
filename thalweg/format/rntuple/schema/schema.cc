#include "thalweg/format/rntuple/schema/schema.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {
namespace {

// "Naming specification". Slashes in the names of tables are directories.
void check_name(std::string const& where, std::string_view name, bool slashes) {
    auto const refused = [&](unsigned char character) {
        return character <= ' ' || character == 0x7f || character == '.' || character == '\\' ||
               (character == '/' && !slashes);
    };
    auto const found = std::ranges::find_if(name, refused);
    if (found == name.end()) return;
    bool const printable = *found > ' ' && *found < 0x7f;
    base::fail_usage({where + " cannot be stored in an RNTuple",
                      printable       ? fmt::format("its name holds '{}'", *found)
                      : *found == ' ' ? "its name holds a space"
                                      : "its name holds a control character",
                      "choose a name without dots, slashes and spaces"});
}

void make_storable(std::string const& where, model::Field& field) {
    check_name(where, field.name, false);
    if (field.kind == model::Kind::scalar) {
        bool const single = field.scalar == model::Scalar::complex64;
        if (!single && field.scalar != model::Scalar::complex128) return;
        auto const part = single ? model::Scalar::float32 : model::Scalar::float64;
        field.kind = model::Kind::record;
        field.type_name = model::name_of(field.scalar);
        field.scalar = model::Field{}.scalar;
        field.members = {{.name = "real", .scalar = part}, {.name = "imag", .scalar = part}};
    }
    for (auto& member : field.members) {
        make_storable(member.name.empty() ? where : fmt::format("{}, field '{}'", where, member.name), member);
    }
}

} // namespace

std::string codec_of(model::Column const& column, std::string const& wish) {
    constexpr std::string_view kPlain = "plain+";
    bool const plain = wish.starts_with(kPlain);
    auto const compression = wish.substr(plain ? kPlain.size() : 0);
    auto const spec = codec::Spec::parse(compression);
    if (spec.prefilter != codec::Prefilter::none) {
        base::fail_usage({fmt::format("'{}' is no codec for an RNTuple", wish), "its readers know no shuffling",
                          "choose zstd, lz4, deflate or none, with plain+ in front to store numbers as they are"});
    }
    bool const compressed = spec.compression != codec::Compression::none;
    bool const split = compressed && !plain;
    auto const encoding = column.role == model::Column::Role::values ? default_encoding(column.scalar, split)
                          : split                                    ? "splitindex64"
                                                                     : "index64";
    return fmt::format("root:{}{}{}", encoding, compressed ? "+" : "", compressed ? spec.name() : "");
}

model::Schema storable(model::Schema const& schema) {
    auto result = schema;
    for (auto& table : result.tables) {
        auto const where = fmt::format("table '{}'", table.name);
        check_name(where, table.name, true);
        for (auto& field : table.fields) make_storable(fmt::format("{}, field '{}'", where, field.name), field);
    }
    return result;
}

} // namespace thalweg::format::rntuple
