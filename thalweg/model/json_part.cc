#include "thalweg/model/json_part.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

using nlohmann::ordered_json;

constexpr auto kWhereDescribed = "docs/formats/schema.md lists the keys and their values";

std::string kind_of(ordered_json const& json) {
    return fmt::format("{}{}",
                       json.is_array() || json.is_object() ? "an "
                       : json.is_null()                    ? ""
                                                           : "a ",
                       json.type_name());
}

} // namespace

JsonPart::JsonPart(ordered_json const& json, std::string name, std::span<std::string_view const> keys)
    : json_(&json), name_(std::move(name)), keys_(keys) {
    if (!json.is_object()) refuse(fmt::format("it is {}, and must be an object", kind_of(json)));
}

ordered_json const& JsonPart::at(std::string_view key) const {
    if (auto const found = json_->find(key); found != json_->end()) return *found;
    refuse(fmt::format("it has no '{}'{}", key, strangers()));
}

ordered_json const& JsonPart::list(std::string_view key) const {
    auto const& found = at(key);
    if (!found.is_array()) refuse_type(key, "a list");
    return found;
}

std::string JsonPart::text(std::string_view key) const {
    auto const& found = at(key);
    if (!found.is_string()) refuse_type(key, "a text");
    return found.get<std::string>();
}

std::string JsonPart::text_or_empty(std::string_view key) const { return has(key) ? text(key) : std::string(); }

std::vector<std::uint64_t> JsonPart::sizes(std::string_view key) const {
    std::vector<std::uint64_t> sizes;
    for (auto const& size : list(key)) {
        if (!size.is_number_unsigned()) refuse_type(key, "a list of integers that are not negative");
        sizes.push_back(size.get<std::uint64_t>());
    }
    return sizes;
}

void JsonPart::refuse(std::string const& why) const {
    base::fail_data({name_ + " cannot be read", why, kWhereDescribed});
}

void JsonPart::refuse_type(std::string_view key, std::string_view needed) const {
    refuse(fmt::format("its '{}' is {}, and must be {}", key, json_->at(std::string(key)).dump(), needed));
}

// Names the keys that have no meaning: one of them may be meant.
std::string JsonPart::strangers() const {
    std::vector<std::string> found;
    for (auto const& [key, value] : json_->items())
        if (std::ranges::find(keys_, key) == keys_.end()) found.push_back(fmt::format("'{}'", key));
    return found.empty() ? "" : fmt::format(", but {}, which has no meaning there", fmt::join(found, ", "));
}

std::string why_of(nlohmann::json::exception const& error) {
    std::string const text = error.what();
    auto const end = text.find("] ");
    return text.starts_with("[json.exception.") && end != std::string::npos ? text.substr(end + 2) : text;
}

} // namespace thalweg::model
