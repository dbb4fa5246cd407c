#include "thalweg/model/readable_names.h"

#include <fmt/format.h>
#include <functional>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

namespace thalweg::model {
namespace {

// Sees every text, with what it is: "the name of table 'events'".
using Visit = std::function<void(std::string const& what, std::string& text)>;

void visit_fields(std::string const& where, std::vector<Field>& fields, Visit const& visit) {
    for (auto& field : fields) {
        auto const what = fmt::format("field '{}' of {}", base::readable(field.name), where);
        visit("the unit of " + what, field.unit);
        visit("the description of " + what, field.description);
        visit("the type of " + what, field.type_name);
        visit_fields(what, field.members, visit);
        visit("the name of " + what, field.name);
    }
}

void visit_texts(Schema& schema, Visit const& visit) {
    for (auto& table : schema.tables) {
        auto const what = fmt::format("table '{}'", base::readable(table.name));
        visit("the description of " + what, table.description);
        visit_fields(what, table.fields, visit);
        visit("the name of " + what, table.name);
    }
}

void visit_texts(std::map<std::string, std::string>& metadata, Visit const& visit) {
    std::map<std::string, std::string> visited;
    for (auto& [key, value] : metadata) {
        auto const what = fmt::format("metadata '{}'", base::readable(key));
        auto name = key;
        visit("the name of " + what, name);
        visit("the value of " + what, value);
        visited.insert_or_assign(std::move(name), std::move(value));
    }
    metadata = std::move(visited);
}

} // namespace

void make_names_readable(RunMap& map) {
    std::vector<std::string> notes;
    Visit const visit = [&](std::string const& what, std::string& text) {
        if (base::is_utf8(text)) return;
        text = base::readable(text);
        notes.push_back(fmt::format("{} is no UTF-8: bytes that are none are shown as \\xHH", what));
    };
    visit_texts(map.head.schema, visit);
    visit_texts(map.metadata, visit);
    Visit const quietly = [](std::string const&, std::string& text) { text = base::readable(text); };
    visit_texts(map.head.metadata, quietly); // the same ones again
    for (auto& table : map.head.columns) {
        for (auto& column : table) column.path = base::readable(column.path);
    }
    for (auto& note : map.notes) note = base::readable(note);
    for (auto& each : map.left_out) {
        each.path = base::readable(each.path);
        each.why = base::readable(each.why);
    }
    map.notes.insert(map.notes.end(), notes.begin(), notes.end());
}

void check_names_are_utf8(RunHead const& head) {
    Visit const visit = [](std::string const& what, std::string& text) {
        if (!base::is_utf8(text)) base::fail_usage({what + " cannot be kept", "it is no UTF-8", "give it as text"});
    };
    auto schema = head.schema;
    auto metadata = head.metadata;
    visit_texts(schema, visit);
    visit_texts(metadata, visit);
}

} // namespace thalweg::model
