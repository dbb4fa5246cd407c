#include "thalweg/checkpoint/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace thalweg::checkpoint {

using Json = nlohmann::json;

std::uint64_t count_of(PerAxis const& shape) {
    std::uint64_t count = 1;
    for (auto const extent : shape) count *= extent;
    return count;
}

std::uint64_t Box::count() const { return count_of(shape); }

std::string text_of(PerAxis const& extents) { return fmt::format("({})", fmt::join(extents, ", ")); }

std::string Box::text() const {
    PerAxis ends;
    for (std::size_t axis = 0; axis < start.size(); ++axis) ends.push_back(end(axis));
    return text_of(start) + " to " + text_of(ends);
}

void to_json(Json& json, Box const& box) { json = Json::array({box.start, box.shape}); }

void from_json(Json const& json, Box& box) {
    json.at(0).get_to(box.start);
    json.at(1).get_to(box.shape);
}

void to_json(Json& json, ArrayPage const& page) {
    json = Json::array({page.box, page.offset, page.stored_bytes, page.encoded});
}

void from_json(Json const& json, ArrayPage& page) {
    json.at(0).get_to(page.box);
    json.at(1).get_to(page.offset);
    json.at(2).get_to(page.stored_bytes);
    json.at(3).get_to(page.encoded);
}

void to_json(Json& json, ArrayPart const& part) {
    json = {{"box", part.box}, {"chunk", part.chunk}, {"pages", part.pages}};
}

void from_json(Json const& json, ArrayPart& part) {
    json.at("box").get_to(part.box);
    json.at("chunk").get_to(part.chunk);
    json.at("pages").get_to(part.pages);
}

void to_json(Json& json, StoredArray const& array) {
    json = {{"name", array.name},   {"type", model::name_of(array.scalar)}, {"shape", array.shape},
            {"codec", array.codec}, {"virtual", array.is_virtual},          {"parts", array.parts}};
}

void from_json(Json const& json, StoredArray& array) {
    json.at("name").get_to(array.name);
    array.scalar = model::parse_scalar(json.at("type").get<std::string>());
    json.at("shape").get_to(array.shape);
    json.at("codec").get_to(array.codec);
    json.at("virtual").get_to(array.is_virtual);
    json.at("parts").get_to(array.parts);
}

} // namespace thalweg::checkpoint
