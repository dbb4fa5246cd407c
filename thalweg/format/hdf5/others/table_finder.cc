#include "thalweg/format/hdf5/others/table_finder.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::format::hdf5::others {
namespace {

constexpr std::size_t kMaxGroupDepth = 32;

// Neither of them is, or lies in, the other one.
bool is_free(std::set<std::string> const& names, std::string const& name) {
    auto const below = names.lower_bound(name + "/");
    if (below != names.end() && below->starts_with(name + "/")) return false;
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
        if (names.contains(name.substr(0, slash))) return false;
    }
    return !names.contains(name);
}

void make_names_unique(std::vector<FoundTable>& tables) {
    std::set<std::string> names;
    for (auto const& table : tables) {
        if (table.is_path) names.insert(table.name);
    }
    for (auto& table : tables) {
        if (table.is_path) continue;
        while (!is_free(names, table.name)) table.name += '_';
        names.insert(table.name);
    }
}

} // namespace

std::vector<FoundTable> TableFinder::find() {
    THALWEG_ASSERT(explored_.empty(), "a finder explores one file once");
    explore("", {"", true, false, facts_of(handle_, "/").id}, 0);
    for (std::size_t i = 0; i < linked_.size(); ++i) { // NOLINT(modernize-loop-convert): exploring adds to them
        auto const [path, group] = linked_[i];
        explore(path, group, static_cast<std::size_t>(std::ranges::count(path, '/')));
    }
    make_names_unique(tables_);
    return std::move(tables_);
}

void TableFinder::explore(std::string const& path, Child const& group, std::size_t depth) {
    if (depth > kMaxGroupDepth) return finder_.leave_out(path, "it is nested too deeply");
    if (finder_.leads_back(path, group)) return;
    auto const [first, is_new] = explored_.emplace(group.id, path);
    if (!is_new) return finder_.notes.push_back(fmt::format("{} is {} under another name", path, first->second));
    FieldFinder::Entered const entered(finder_, group.id);
    try {
        explore_children(path, depth);
    } catch (base::DataError const& error) {
        finder_.leave_out(path.empty() ? "/" : path, why_of(error.what(), path.empty() ? "/" : path));
    }
}

void TableFinder::explore_children(std::string const& path, std::size_t depth) {
    std::vector<Child> datasets, groups, others;
    for (auto const& child : finder_.children(path)) (child.is_group ? groups : datasets).push_back(child);
    auto fields = finder_.fields(path, datasets, depth);
    // Beside datasets, groups are structs and lists; a group of nothing but groups holds tables.
    bool const is_table = !path.empty() && (!fields.empty() || is_lh5_table(path));
    std::erase_if(groups, [&](auto const& group) {
        if (is_table || is_list_at(path + "/" + group.name)) return false;
        others.push_back(group);
        return true;
    });
    std::ranges::move(finder_.fields(path, groups, depth), std::back_inserter(fields));
    add_tables({path.empty() ? root_name_ : path.substr(1), !path.empty(), std::move(fields)}, path);
    for (auto const& group : others) {
        auto const group_path = path + "/" + group.name;
        if (group.is_soft) {
            linked_.emplace_back(group_path, group);
        } else {
            explore(group_path, group, depth + 1);
        }
    }
}

bool TableFinder::is_list_at(std::string const& path) const {
    try {
        return is_list(children_of(handle_, path).found);
    } catch (base::DataError const&) {
        return false; // the code that looks into it will say so
    }
}

bool TableFinder::is_lh5_table(std::string const& path) const {
    return finder_.attribute(path, "datatype").value_or("").starts_with("table{");
}

// A table of the fields that most rows, and one of each of the others. `path` is that of the group.
void TableFinder::add_tables(FoundTable table, std::string const& path) {
    auto const rows = common_rows(table.fields);
    auto apart = std::exchange(finder_.apart, {});
    if (rows) split_off(table.fields, *rows, apart);
    auto& others = rows ? apart : table.fields;
    if (!rows) std::ranges::move(apart, std::back_inserter(others));
    auto const [name, is_path] = std::pair(table.name, table.is_path);
    auto each_apart = std::move(others);
    if (rows) tables_.push_back(std::move(table));
    // Within a table there can be no other one: "group_name". Where the group is none, "group/name".
    bool const is_plain = path.empty() || (is_path && !rows);
    auto const prefix = path.empty() ? "" : name + (is_plain ? "/" : "_");
    for (auto& each : each_apart) {
        auto inner = each.path.substr(path.size() + 1);
        bool const is_inner_path = is_plain && inner.find('/') == inner.npos;
        std::ranges::replace(inner, '/', '_');
        FoundTable other{prefix + inner, is_inner_path, {}, each.field.description};
        if (each.field.kind == model::Kind::record) {
            auto const inner_path = each.path;
            other.fields = std::move(each.members);
            add_tables(std::move(other), inner_path);
        } else {
            other.description.clear();
            other.fields.push_back(std::move(each));
            tables_.push_back(std::move(other));
        }
    }
}

} // namespace thalweg::format::hdf5::others
