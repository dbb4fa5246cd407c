#include "thalweg/model/run.h"

#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/random.h"
#include "thalweg/model/json.h"
#include "thalweg/model/readable_names.h"

namespace thalweg::model {
namespace {

using nlohmann::ordered_json;

std::string random_id() {
    auto const first = base::random_word();
    return fmt::format("{:016x}{:016x}", first, base::random_word());
}

ordered_json layout_to_json(TableLayout const& layout) {
    ordered_json json{{"block_rows", layout.block_rows}};
    if (layout.cluster_bytes > 0) json["cluster_bytes"] = layout.cluster_bytes;
    if (layout.fixed_cuts) json["fixed_cuts"] = true;
    for (auto const& column : layout.columns) {
        json["columns"].push_back({{"page_items", column.page_items}, {"codec", column.codec}});
    }
    return json;
}

TableLayout layout_from_json(ordered_json const& json) {
    TableLayout layout;
    layout.block_rows = json.at("block_rows").get<std::uint64_t>();
    layout.cluster_bytes = json.value("cluster_bytes", std::uint64_t{0});
    layout.fixed_cuts = json.value("fixed_cuts", false);
    for (auto const& entry : json.at("columns")) {
        layout.columns.push_back({entry.at("page_items").get<std::uint64_t>(), entry.at("codec").get<std::string>()});
    }
    return layout;
}

void check_layout(TableLayout const& layout, std::vector<Column> const& columns) {
    bool sound = layout.columns.size() == columns.size() && layout.block_rows > 0;
    for (std::size_t i = 0; sound && i < columns.size(); ++i) {
        auto const items = layout.columns[i].page_items;
        sound = items > 0 && items <= (1ull << 32) / columns[i].item_bytes() + 1 &&
                (columns[i].parent || layout.cluster_bytes > 0 || layout.block_rows % items == 0);
    }
    if (!sound) base::fail_data({"the page layout cannot be read", "it does not fit the schema"});
}

} // namespace

RunHead make_run_head(Schema schema, LayoutOptions const& options, std::map<std::string, std::string> metadata) {
    if (schema.tables.empty()) base::fail_usage({"the schema is empty", "", "give it at least one table"});
    validate(schema);
    RunHead head;
    head.id = random_id();
    head.created_s = base::unix_seconds();
    head.metadata = std::move(metadata);
    head.schema = std::move(schema);
    check_names_are_utf8(head);
    for (auto const& table : head.schema.tables) {
        head.columns.push_back(flatten(table));
        head.layouts.push_back(plan_layout(head.columns.back(), options));
    }
    return head;
}

std::string to_json(RunHead const& head) {
    ordered_json json{{"id", head.id},
                      {"created_s", head.created_s},
                      {"schema", schema_to_json(head.schema)},
                      {"metadata", head.metadata}};
    for (auto const& layout : head.layouts) json["layouts"].push_back(layout_to_json(layout));
    if (head.keys_per_group > 0) json["keys_per_group"] = head.keys_per_group;
    if (!head.knobs.empty()) json["knobs"] = head.knobs;
    if (!head.engine.empty()) json["engine"] = head.engine;
    return json.dump();
}

RunHead run_head_from_json(std::string_view text) {
    return from_json_text(text, "the head of the run", [](ordered_json const& json) {
        RunHead head;
        head.id = json.at("id").get<std::string>();
        head.created_s = json.value("created_s", std::uint64_t{0});
        head.schema = schema_from_json(json.at("schema"));
        head.metadata = json.at("metadata").get<std::map<std::string, std::string>>();
        head.keys_per_group = json.value("keys_per_group", std::uint64_t{0});
        head.knobs = json.value("knobs", head.knobs);
        head.engine = json.value("engine", head.engine);
        for (auto const& table : head.schema.tables) head.columns.push_back(flatten(table));
        for (auto const& layout : json.at("layouts")) head.layouts.push_back(layout_from_json(layout));
        if (head.layouts.size() != head.columns.size()) {
            base::fail_data({"the page layout cannot be read", "it does not fit the schema"});
        }
        for (std::size_t i = 0; i < head.layouts.size(); ++i) check_layout(head.layouts[i], head.columns[i]);
        return head;
    });
}

std::string LeftOut::str() const { return fmt::format("{} is left out ({})", path, why); }

} // namespace thalweg::model
