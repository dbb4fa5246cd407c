// The JSON form of a schema, written in docs/formats/schema.md.
#include "thalweg/model/json.h"

#include <array>

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 9> kOfField = {"name", "type",        "element",   "fields",    "shape",
                                                      "unit", "description", "type_name", "attributes"};
constexpr std::array<std::string_view, 4> kOfTable = {"name", "fields", "description", "attributes"};
constexpr std::array<std::string_view, 3> kOfSchema = {"tables", "attributes", "groups"};

void put_attributes(ordered_json& json, Attributes const& attributes) {
    if (!attributes.empty()) json["attributes"] = attributes_to_json(attributes);
}

Attributes take_attributes(JsonPart const& part) {
    return part.has("attributes") ? attributes_from_json(part.at("attributes"), part.name()) : Attributes{};
}

ordered_json field_to_json(Field const& field, bool with_name) {
    ordered_json json;
    if (with_name) json["name"] = field.name;
    switch (field.kind) {
    case Kind::scalar:
        json["type"] = name_of(field.scalar);
        break;
    case Kind::string:
        json["type"] = "string";
        break;
    case Kind::list:
        json["type"] = "list";
        json["element"] = field_to_json(field.members[0], false);
        break;
    case Kind::record:
        json["type"] = "struct";
        for (auto const& member : field.members) json["fields"].push_back(field_to_json(member, true));
        break;
    }
    if (!field.shape.empty()) json["shape"] = field.shape;
    if (!field.unit.empty()) json["unit"] = field.unit;
    if (!field.description.empty()) json["description"] = field.description;
    if (!field.type_name.empty()) json["type_name"] = field.type_name;
    put_attributes(json, field.attributes);
    return json;
}

// A field of a table, a member of a struct, or the element of a list.
struct Owner {
    std::string table;
    std::string path; // of the field that it lies in, with a slash at the end
};

Field field_from_json(ordered_json const& json, Owner const& owner, std::string const& name);

std::vector<Field> fields_from_json(JsonPart const& part, Owner const& owner) {
    std::vector<Field> fields;
    for (auto const& json : part.list("fields")) {
        auto const number = fmt::format("{}field number {} of {}", owner.path, fields.size() + 1, owner.table);
        auto const name = JsonPart(json, number, kOfField).text("name");
        fields.push_back(field_from_json(json, owner, name));
    }
    return fields;
}

void take_type(Field& field, JsonPart const& part, Owner const& inside) {
    auto const type = part.text("type");
    if (type == "string") {
        field.kind = Kind::string;
    } else if (type == "list") {
        field.kind = Kind::list;
        field.members.push_back(field_from_json(part.at("element"), inside, ""));
    } else if (type == "struct") {
        field.kind = Kind::record;
        field.members = fields_from_json(part, inside);
    } else {
        try {
            field.scalar = parse_scalar(type);
        } catch (base::UsageError const& error) {
            part.refuse(error.what());
        }
    }
}

Field field_from_json(ordered_json const& json, Owner const& owner, std::string const& name) {
    auto const path = owner.path + (name.empty() ? "*" : name);
    JsonPart const part(json, fmt::format("field '{}' of {}", path, owner.table), kOfField);
    Field field;
    field.name = name;
    take_type(field, part, {owner.table, path + "/"});
    if (part.has("shape")) field.shape = part.sizes("shape");
    field.unit = part.text_or_empty("unit");
    field.description = part.text_or_empty("description");
    field.type_name = part.text_or_empty("type_name");
    field.attributes = take_attributes(part);
    return field;
}

Table table_from_json(ordered_json const& json, std::size_t number) {
    auto const name = JsonPart(json, fmt::format("table number {}", number), kOfTable).text("name");
    JsonPart const part(json, fmt::format("table '{}'", name), kOfTable);
    return {name, fields_from_json(part, {part.name(), ""}), part.text_or_empty("description"), take_attributes(part)};
}

} // namespace

ordered_json schema_to_json(Schema const& schema) {
    ordered_json json{{"tables", ordered_json::array()}};
    for (auto const& table : schema.tables) {
        ordered_json entry{{"name", table.name}};
        for (auto const& field : table.fields) entry["fields"].push_back(field_to_json(field, true));
        if (!table.description.empty()) entry["description"] = table.description;
        put_attributes(entry, table.attributes);
        json["tables"].push_back(std::move(entry));
    }
    put_attributes(json, schema.attributes);
    for (auto const& group : schema.groups) json["groups"][group.name] = attributes_to_json(group.attributes);
    return json;
}

Schema schema_from_json(ordered_json const& json) {
    JsonPart const part(json, "the schema", kOfSchema);
    Schema schema;
    for (auto const& table : part.list("tables"))
        schema.tables.push_back(table_from_json(table, schema.tables.size() + 1));
    schema.attributes = take_attributes(part);
    auto const groups = json.value("groups", ordered_json::object());
    for (auto const& [name, attributes] : groups.items())
        schema.groups.push_back({name, attributes_from_json(attributes, fmt::format("group '{}'", name))});
    validate(schema);
    return schema;
}

std::string to_json(Schema const& schema) { return schema_to_json(schema).dump(); }

Schema schema_from_json(std::string_view text) {
    return from_json_text(text, "the schema", [](ordered_json const& json) { return schema_from_json(json); });
}

} // namespace thalweg::model
