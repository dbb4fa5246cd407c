// The JSON form of a schema, written in docs/formats/schema.md.
#include "thalweg/model/json.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

using nlohmann::ordered_json;

void put_attributes(ordered_json& json, Attributes const& attributes) {
    if (!attributes.empty()) json["attributes"] = attributes_to_json(attributes);
}

Attributes take_attributes(ordered_json const& json) {
    return json.contains("attributes") ? attributes_from_json(json.at("attributes")) : Attributes{};
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

Field field_from_json(ordered_json const& json, bool with_name) {
    Field field;
    if (with_name) field.name = json.at("name").get<std::string>();
    auto const type = json.at("type").get<std::string>();
    if (type == "string") {
        field.kind = Kind::string;
    } else if (type == "list") {
        field.kind = Kind::list;
        field.members.push_back(field_from_json(json.at("element"), false));
    } else if (type == "struct") {
        field.kind = Kind::record;
        for (auto const& member : json.at("fields")) field.members.push_back(field_from_json(member, true));
    } else {
        field.scalar = parse_scalar(type);
    }
    if (json.contains("shape")) field.shape = json.at("shape").get<std::vector<std::uint64_t>>();
    field.unit = json.value("unit", "");
    field.description = json.value("description", "");
    field.type_name = json.value("type_name", "");
    field.attributes = take_attributes(json);
    return field;
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
    Schema schema;
    for (auto const& entry : json.at("tables")) {
        Table table{entry.at("name").get<std::string>(), {}, entry.value("description", ""), take_attributes(entry)};
        for (auto const& field : entry.at("fields")) table.fields.push_back(field_from_json(field, true));
        schema.tables.push_back(std::move(table));
    }
    schema.attributes = take_attributes(json);
    auto const groups = json.value("groups", ordered_json::object());
    for (auto const& [name, attributes] : groups.items())
        schema.groups.push_back({name, attributes_from_json(attributes)});
    validate(schema);
    return schema;
}

std::string to_json(Schema const& schema) { return schema_to_json(schema).dump(); }

Schema schema_from_json(std::string_view text) {
    return from_json_text(text, "the schema", [](ordered_json const& json) { return schema_from_json(json); });
}

} // namespace thalweg::model
