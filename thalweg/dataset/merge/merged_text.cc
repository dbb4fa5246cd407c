#include "thalweg/dataset/merge/merged_text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/random.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/format/rntuple/writing/units.h"
#include "thalweg/model/json.h"

namespace thalweg::dataset {
namespace {

using format::rntuple::kMergedName;
using format::rntuple::MergedText;
using format::rntuple::MergeInput;
using format::rntuple::StoredNTuple;

std::uint64_t rows_of(StoredNTuple const& table) {
    std::uint64_t rows = 0;
    for (auto const& cluster : table.clusters) rows += cluster.entries;
    return rows;
}

StoredNTuple const* find_table(MergeInput const& input, std::string const& name) {
    auto const& tables = input.content.ntuples;
    auto const found = std::ranges::find(tables, name, &StoredNTuple::path);
    return found == tables.end() ? nullptr : &*found;
}

// Returns the metadata that is the same in all inputs.
std::map<std::string, std::string> common_metadata(std::vector<MergeInput> const& inputs) {
    auto common = inputs.front().content.text->metadata;
    for (auto const& input : inputs) {
        std::erase_if(common, [&](auto const& entry) {
            auto const& other = input.content.text->metadata;
            auto const found = other.find(entry.first);
            return found == other.end() || found->second != entry.second;
        });
    }
    common.erase(kMergedName); // of one of them
    return common;
}

// Name, rows, and what `common` does not have of its metadata.
std::string told(std::vector<MergeInput> const& inputs, std::map<std::string, std::string> const& common) {
    auto list = nlohmann::ordered_json::array();
    for (auto const& input : inputs) {
        nlohmann::ordered_json json{{"file", std::filesystem::path(input.path).filename().string()}};
        for (auto const& table : input.content.ntuples) json["rows"][table.path] = rows_of(table);
        if (auto const& text = input.content.text; text && is_own(input.content)) {
            json["id"] = text->head.id;
            json["created_s"] = text->head.created_s;
            for (auto const& [key, value] : text->metadata) {
                if (!common.contains(key)) json["metadata"][key] = value;
            }
        } else if (!input.content.merged_from.empty()) {
            json["metadata"][kMergedName] = input.content.merged_from;
        }
        list.push_back(std::move(json));
    }
    return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Rows and producers of one file behind those of the files before it.
class UnitMerger {
  public:
    explicit UnitMerger(model::RunHead const& head) : head_(head), rows_(head.schema.tables.size()) {}

    void add(MergeInput const& input) {
        std::uint32_t producers = 0;
        for (auto& unit : decode_units(read_units(*input.open(), input.content.text->units))) {
            for (auto& range : unit.ranges) {
                if (range.table >= rows_.size())
                    base::fail_data({input.path + " cannot be merged", "a work unit has rows of no table"});
                range.first_row += rows_[range.table];
                producers = std::max(producers, range.producer + 1);
                range.producer += producers_;
            }
            units_.push_back(std::move(unit));
        }
        producers_ += producers;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (auto const* table = find_table(input, head_.schema.tables[i].name)) rows_[i] += rows_of(*table);
        }
    }

    std::vector<Unit> const& units() const { return units_; }

  private:
    model::RunHead const& head_;
    std::vector<std::uint64_t> rows_; // so far, by table
    std::uint32_t producers_ = 0;
    std::vector<Unit> units_;
};

// Those of the first file are kept.
void list_other_attributes(std::vector<MergeInput> const& inputs, MergeResult& result) {
    auto const& first = inputs.front().content.text->head;
    for (auto const& input : inputs) {
        if (model::schema_to_json(input.content.text->head.schema) == model::schema_to_json(first.schema)) continue;
        result.left_out.push_back({input.path, "its attributes, units or descriptions are not those of " +
                                                   inputs.front().path + ", which are kept"});
    }
}

void list_left_out(MergeInput const& input, bool with_run, MergeResult& result) {
    for (auto const& tree : input.content.trees)
        result.left_out.push_back(
            {input.path + ":" + tree, "it is a TTree, and only RNTuples are merged unless carry= (--carry) names it"});
    for (auto const& other : input.content.others)
        result.left_out.push_back({input.path + ":" + other.path, "it is no RNTuple"});
    if (with_run || !input.content.text) return;
    result.left_out.push_back(
        {input.path + ":thalweg", "metadata, attributes and work units are kept only if all files are Thalweg's"});
}

} // namespace

MergedText merged_text(std::vector<MergeInput> const& inputs, std::optional<MergeInput> const& beside,
                       std::map<std::string, std::string> const& metadata, MergeResult& result) {
    auto const all_own = std::ranges::all_of(inputs, [](auto const& each) { return is_own(each.content); });
    for (auto const& input : inputs) list_left_out(input, all_own, result);
    MergedText text;
    if (!all_own) {
        text.text = {kMergedName, told(inputs, {})};
        text.seed = fmt::format("{:016x}", base::random_word());
        text.created_s = base::unix_seconds();
        return text;
    }
    list_other_attributes(inputs, result);
    auto const& first = inputs.front().content.text->head;
    auto common = common_metadata(inputs);
    for (auto const& [key, value] : metadata) common.erase(key); // each input tells its own
    text.metadata = common;
    for (auto const& [key, value] : metadata) text.metadata[key] = value;
    text.metadata[kMergedName] = told(inputs, common);
    auto schema = first.schema;
    auto layouts = first.layouts;
    if (beside) {
        auto const& more = beside->content.text->head;
        schema.tables.insert(schema.tables.end(), more.schema.tables.begin(), more.schema.tables.end());
        layouts.insert(layouts.end(), more.layouts.begin(), more.layouts.end());
    }
    text.head = model::make_run_head(std::move(schema), {}, text.metadata);
    text.head->layouts = std::move(layouts);
    text.seed = text.head->id;
    text.created_s = text.head->created_s;
    UnitMerger units(*text.head);
    for (auto const& input : inputs) units.add(input);
    result.units = units.units().size();
    text.units = encode_units(units.units());
    return text;
}

} // namespace thalweg::dataset
