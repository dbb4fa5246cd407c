#include "thalweg/dataset/node_folder/node_rules.h"

#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

void announce_rules(PartsFolder const& parts, NodeRules const& rules) {
    if (rules == NodeRules{}) return;
    if (rules.keys_together > 0) base::make_directory(parts.keys());
    parts.announce(kRules, nlohmann::json{{"goes_on", rules.goes_on}, {"keys_together", rules.keys_together}}.dump());
}

NodeRules rules_of(PartsFolder const& parts) {
    auto const text = parts.announced(kRules);
    if (!text) return {};
    auto const json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) base::fail_data({parts.path() + "/" + kRules + " cannot be read", "it is no JSON object"});
    return {json.value("goes_on", false), json.value("keys_together", std::uint64_t{0})};
}

} // namespace thalweg::dataset
