#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/format/rntuple/schema/describe_names.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {
namespace {

class FieldDescriber {
  public:
    explicit FieldDescriber(model::TableLayout const& layout) : layout_(layout) {}

    // Top-level fields come first: JSROOT takes the first field of a name, wherever in the nesting it is.
    SchemaDescription describe(model::Table const& table) {
        for (auto const& field : table.fields) {
            auto const own_index = static_cast<std::uint32_t>(schema_.fields.size());
            add(own_index, field.name, field);
        }
        for (std::size_t i = 0; i < table.fields.size(); ++i) {
            complete(static_cast<std::uint32_t>(i), top_level(table, i), 0);
        }
        return std::move(schema_);
    }

  private:
    std::uint32_t add(std::uint32_t parent, std::string name, model::Field const& field) {
        FieldDescription description{0, 0, parent, FieldRole::leaf, std::move(name)};
        description.description = field.description;
        if (!field.unit.empty()) {
            description.description += fmt::format("{}[{}]", field.description.empty() ? "" : " ", field.unit);
        }
        schema_.fields.push_back(std::move(description));
        return static_cast<std::uint32_t>(schema_.fields.size() - 1);
    }

    // Role, type, columns and whatever is inside of a field that is there already. Its first `dimensions` have fields
    // of their own, further up.
    void complete(std::uint32_t at, NamedField const& named, std::size_t dimensions) {
        auto const& field = *named.field;
        schema_.fields[at].type_name = type_name_of(named, dimensions);
        if (dimensions < field.shape.size()) {
            schema_.fields[at].array_size = field.shape[dimensions];
            complete(add(at, "_0", {}), named, dimensions + 1);
            return;
        }
        switch (field.kind) {
        case model::Kind::scalar:
            add_column(at);
            break;
        case model::Kind::string:
            add_column(at);
            add_column(at);
            schema_.columns.back().type = ColumnType::character; // where the model has bytes
            break;
        case model::Kind::list:
            schema_.fields[at].role = FieldRole::collection;
            add_column(at);
            complete(add(at, "_0", field.members[0]), named.element(), 0);
            break;
        case model::Kind::record:
            complete_record(at, named);
            break;
        }
    }

    // JSROOT reads a struct only if it has the name of a class and a checksum, so all have them. The checksum is not
    // the one that ROOT would compute; ROOT looks at it only to choose rules of schema evolution.
    void complete_record(std::uint32_t at, NamedField const& named) {
        auto const& type_name = schema_.fields[at].type_name;
        schema_.fields[at].role = FieldRole::record;
        bool const standard = type_name.starts_with("std::"); // pair, tuple
        std::string members = type_name;
        for (std::size_t i = 0; i < named.field->members.size(); ++i) {
            auto const member = named.member(i);
            members += fmt::format(";{} {}", type_name_of(member, 0), member.field->name);
        }
        if (!standard) {
            auto const checksum = base::xxh3(std::as_bytes(std::span(members)));
            schema_.fields[at].type_checksum = static_cast<std::uint32_t>(checksum) | 1; // never 0
        }
        for (std::size_t i = 0; i < named.field->members.size(); ++i) {
            auto const& member = named.field->members[i];
            complete(add(at, member.name, member), named.member(i), 0);
        }
    }

    void add_column(std::uint32_t field) {
        auto const& facts = facts_of_codec(layout_.columns.at(schema_.columns.size()).codec);
        schema_.columns.push_back({facts.type, facts.bits, field, 0, {}, {}});
    }

    model::TableLayout const& layout_;
    SchemaDescription schema_;
};

} // namespace

SchemaDescription describe(model::Table const& table, model::TableLayout const& layout) {
    return FieldDescriber(layout).describe(table);
}

} // namespace thalweg::format::rntuple
