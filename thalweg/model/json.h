// For this folder's own .cc files: JSON values, and one place that turns their exceptions into ours.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "thalweg/base/error.h"
#include "thalweg/model/json_part.h"
#include "thalweg/model/schema.h"

namespace thalweg::model {

nlohmann::ordered_json attributes_to_json(Attributes const& attributes);
Attributes attributes_from_json(nlohmann::ordered_json const& json, std::string const& of = "the run");

nlohmann::ordered_json schema_to_json(Schema const& schema);
Schema schema_from_json(nlohmann::ordered_json const& json);

// Parses `text` and gives it to `read`. Whatever is wrong with either becomes a base::DataError about `what`.
template <typename Read> auto from_json_text(std::string_view text, std::string const& what, Read const& read) {
    try {
        return read(nlohmann::ordered_json::parse(text));
    } catch (nlohmann::json::exception const& error) {
        base::fail_data({what + " cannot be read", why_of(error)});
    } catch (base::UsageError const& error) {
        base::fail_data({what + " cannot be read", error.what()});
    }
}

} // namespace thalweg::model
