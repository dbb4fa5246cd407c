// The JSON form of attributes, written in docs/formats/schema.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "thalweg/model/json.h"

namespace thalweg::model {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kOfAttribute = {"type", "shape", "value"};

// JSON has no name for these.
ordered_json real_to_json(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double real_from_json(ordered_json const& json) {
    if (!json.is_string()) return json.get<double>();
    auto const text = json.get<std::string>();
    if (text == "nan") return NAN;
    if (text == "inf") return INFINITY;
    if (text == "-inf") return -INFINITY;
    base::fail_data({"'" + text + "' is no number"});
}

// Calls `use` with a value of the C++ type that a part of the scalar has: of complex numbers the half.
template <typename Use> void with_part(Scalar scalar, Use const& use) {
    switch (scalar) {
    case Scalar::boolean:
        return use(bool{});
    case Scalar::int8:
        return use(std::int8_t{});
    case Scalar::int16:
        return use(std::int16_t{});
    case Scalar::int32:
        return use(std::int32_t{});
    case Scalar::int64:
        return use(std::int64_t{});
    case Scalar::uint8:
        return use(std::uint8_t{});
    case Scalar::uint16:
        return use(std::uint16_t{});
    case Scalar::uint32:
        return use(std::uint32_t{});
    case Scalar::uint64:
        return use(std::uint64_t{});
    case Scalar::float32:
    case Scalar::complex64:
        return use(float{});
    case Scalar::float64:
    case Scalar::complex128:
        return use(double{});
    }
}

template <typename Part> void append(std::vector<std::byte>& bytes, ordered_json const& json) {
    Part part;
    if constexpr (std::is_floating_point_v<Part>) {
        part = static_cast<Part>(real_from_json(json));
    } else if constexpr (std::is_same_v<Part, bool>) {
        part = json.get<bool>();
    } else {
        // An integer that does not fit is damage, and not its lowest bits.
        auto const fits = json.is_number_unsigned()
                              ? std::in_range<Part>(json.get<std::uint64_t>())
                              : json.is_number_integer() && std::in_range<Part>(json.get<std::int64_t>());
        if (!fits) base::fail_data({json.dump() + " is no integer of that type"});
        part = json.get<Part>();
    }
    std::byte raw[sizeof part];
    std::memcpy(raw, &part, sizeof part);
    bytes.insert(bytes.end(), std::begin(raw), std::end(raw));
}

std::vector<ordered_json> values_to_json(Attribute const& attribute) {
    if (!attribute.scalar) return {attribute.texts.begin(), attribute.texts.end()};
    std::vector<ordered_json> parts;
    with_part(*attribute.scalar, [&]<typename Part>(Part part) {
        for (std::size_t at = 0; at + sizeof part <= attribute.values.size(); at += sizeof part) {
            std::memcpy(&part, attribute.values.data() + at, sizeof part);
            if constexpr (std::is_floating_point_v<Part>) {
                parts.push_back(real_to_json(part));
            } else {
                parts.emplace_back(part);
            }
        }
    });
    if (!is_complex(*attribute.scalar)) return parts;
    std::vector<ordered_json> pairs;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) pairs.push_back({parts[i], parts[i + 1]});
    return pairs;
}

void add_value(Attribute& attribute, ordered_json const& json) {
    if (!attribute.scalar) return attribute.texts.push_back(json.get<std::string>());
    with_part(*attribute.scalar, [&]<typename Part>(Part) {
        if (!is_complex(*attribute.scalar)) return append<Part>(attribute.values, json);
        append<Part>(attribute.values, json.at(0));
        append<Part>(attribute.values, json.at(1));
    });
}

Attribute attribute_from_json(std::string const& name, ordered_json const& entry, std::string const& of) {
    JsonPart const part(entry, fmt::format("attribute '{}' of {}", name, of), kOfAttribute);
    Attribute attribute{.name = name, .scalar = {}, .shape = {}, .values = {}, .texts = {}};
    auto const type = part.text("type");
    auto const& value = part.at("value");
    if (part.has("shape")) attribute.shape = part.sizes("shape");
    try {
        if (type != "string") attribute.scalar = parse_scalar(type);
        if (part.has("shape")) {
            for (auto const& each : value) add_value(attribute, each);
        } else {
            add_value(attribute, value);
        }
    } catch (nlohmann::json::exception const& error) {
        part.refuse(why_of(error));
    } catch (base::Error const& error) {
        part.refuse(error.what());
    }
    return attribute;
}

} // namespace

ordered_json attributes_to_json(Attributes const& attributes) {
    auto all = ordered_json::object();
    for (auto const& attribute : attributes) {
        auto& json = all[attribute.name];
        json["type"] = attribute.scalar ? name_of(*attribute.scalar) : "string";
        if (!attribute.shape.empty()) json["shape"] = attribute.shape;
        auto values = values_to_json(attribute);
        json["value"] = attribute.shape.empty() && !values.empty() ? std::move(values[0]) : ordered_json(values);
    }
    return all;
}

Attributes attributes_from_json(ordered_json const& json, std::string const& of) {
    Attributes attributes;
    for (auto const& [name, entry] : json.items()) attributes.push_back(attribute_from_json(name, entry, of));
    std::ranges::sort(attributes, {}, &Attribute::name);
    return attributes;
}

} // namespace thalweg::model
