// Files that Thalweg did not write: tables are found by what their groups hold.
#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/attributes.h"
#include "thalweg/format/hdf5/load.h"
#include "thalweg/format/hdf5/names.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Field;
using model::Kind;

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMostReasons = 8; // of a file without tables

// What went wrong with an object, without saying again which one it is.
std::string why_of(std::string message, std::string const& path) {
    auto const said = fmt::format("{} cannot be read (", path);
    auto const at = message.find(said);
    if (at == std::string::npos) return message;
    message.erase(0, at + said.size());
    if (message.ends_with(')')) message.pop_back();
    return message;
}

struct Child {
    std::string name;
    bool is_group = false;
};

herr_t take_child(hid_t group, char const* name, H5L_info_t const* link, void* children) {
    if (link->type != H5L_TYPE_HARD) return 0; // what other links lead to is found where it is, or is in another file
    auto const object = H5Oopen(group, name, H5P_DEFAULT);
    auto const type = H5Iget_type(object);
    if (object < 0 || H5Oclose(object) < 0) return -1;
    if (type != H5I_GROUP && type != H5I_DATASET) return 0;
    static_cast<std::vector<Child>*>(children)->push_back({name, type == H5I_GROUP});
    return 0;
}

bool is_list(std::vector<Child> const& children) {
    auto const has = [&](std::string_view name) {
        return std::any_of(children.begin(), children.end(), [&](auto const& child) { return child.name == name; });
    };
    return has("cumulative_length") && has("flattened_data");
}

// A field, how many rows it has, and the datasets of its columns in the order of model::flatten.
struct FoundField {
    Field field;
    std::uint64_t rows = 0;
    std::vector<Dataset> columns;
};

Field field_of(Kind kind) {
    Field field;
    field.kind = kind;
    return field;
}

// As what running sums of that type are read: no length is negative.
std::optional<model::Scalar> sum_type(model::Scalar stored) {
    switch (stored) {
    case model::Scalar::int32:
    case model::Scalar::uint32:
        return model::Scalar::uint32;
    case model::Scalar::int64:
    case model::Scalar::uint64:
        return model::Scalar::uint64;
    default:
        return std::nullopt;
    }
}

struct FoundTable {
    std::string name;
    std::vector<FoundField> fields;
};

class Explorer {
  public:
    Explorer(ReadingFile& file, FileHandle const& handle, std::string root_name)
        : file_(file), handle_(handle), root_name_(std::move(root_name)) {}

    // Adds the tables of a group and of the groups in it; "" is the root.
    void explore(std::string const& path, std::size_t depth) {
        if (depth > kMaxDepth) return skip(path, "it is nested too deeply");
        FoundTable table{path.empty() ? root_name_ : path.substr(1), {}};
        auto const children = children_of(path);
        for (auto const& child : children) {
            if (!child.is_group) add_field(table, path, child, depth);
        }
        // Beside datasets, groups are structs and lists; a group of nothing but groups holds tables.
        bool const is_table = !path.empty() && (!table.fields.empty() || is_lh5_table(path));
        for (auto const& child : children) {
            if (!child.is_group || child.name == ".parts") continue;
            if (is_table || is_list(children_of(path + "/" + child.name))) {
                add_field(table, path, child, depth);
            } else {
                explore(path + "/" + child.name, depth + 1);
            }
        }
        if (!table.fields.empty()) add_table(std::move(table), path);
    }

    std::vector<FoundTable> tables;
    std::vector<model::LeftOut> left_out;

  private:
    void skip(std::string const& path, std::string const& why) { left_out.push_back({path, why}); }

    std::vector<Child> children_of(std::string const& path) const {
        std::vector<Child> children;
        auto const what = "the group " + path + "/ cannot be read";
        GroupHandle const group(H5Gopen2(handle_.get(), path.empty() ? "/" : path.c_str(), H5P_DEFAULT), what);
        check(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_child, &children), what);
        return children;
    }

    bool is_lh5_table(std::string const& path) const {
        return attribute(path, "datatype").value_or("").starts_with("table{");
    }

    std::optional<std::string> attribute(std::string const& path, std::string const& name) const {
        ObjectHandle const object(H5Oopen(handle_.get(), path.c_str(), H5P_DEFAULT), path + " cannot be opened");
        try {
            return read_text(object.get(), name);
        } catch (base::DataError const&) {
            return std::nullopt; // of another kind: it does not mean what ours means
        }
    }

    void add_field(FoundTable& table, std::string const& path, Child const& child, std::size_t depth) {
        auto const child_path = path + "/" + child.name;
        try {
            table.fields.push_back(field(child_path, child, depth + 1));
        } catch (base::DataError const& error) {
            skip(child_path, why_of(error.what(), child_path));
        }
    }

    // The table is what most of its fields have as their number of rows.
    void add_table(FoundTable table, std::string const& path) {
        std::map<std::uint64_t, std::size_t> votes;
        for (auto const& each : table.fields) ++votes[each.rows];
        auto const most = std::max_element(votes.begin(), votes.end(),
                                           [](auto const& a, auto const& b) { return a.second <= b.second; });
        auto const rows = most->first;
        for (auto const& each : table.fields) {
            if (each.rows == rows) continue;
            skip(path + "/" + each.field.name, fmt::format("it has {} rows, most others have {}", each.rows, rows));
        }
        std::erase_if(table.fields, [rows](auto const& each) { return each.rows != rows; });
        tables.push_back(std::move(table));
    }

    FoundField field(std::string const& path, Child const& child, std::size_t depth) {
        if (depth > kMaxDepth) base::fail_data({path + " cannot be read", "it is nested too deeply"});
        auto found = child.is_group ? group_field(path, depth) : dataset_field(path);
        found.field.name = child.name;
        if (found.field.unit.empty()) found.field.unit = attribute(path, "units").value_or("");
        found.field.description = attribute(path, "description").value_or("");
        return found;
    }

    FoundField dataset_field(std::string const& path) {
        StoredDataset stored(file_, handle_, path);
        auto const& facts = stored.facts();
        auto found = field_of(Kind::scalar);
        found.scalar = facts.scalar;
        found.shape = facts.shape;
        return {std::move(found), facts.items, {stored.read()}};
    }

    FoundField group_field(std::string const& path, std::size_t depth) {
        auto const children = children_of(path);
        return is_list(children) ? list_field(path, children, depth) : record_field(path, children, depth);
    }

    FoundField record_field(std::string const& path, std::vector<Child> const& children, std::size_t depth) {
        FoundField record{field_of(Kind::record), 0, {}};
        for (auto const& child : children) {
            auto member = field(path + "/" + child.name, child, depth + 1);
            if (!record.columns.empty() && member.rows != record.rows) {
                base::fail_data({path + " cannot be read", "its members differ in length"});
            }
            record.rows = member.rows;
            record.field.members.push_back(std::move(member.field));
            std::move(member.columns.begin(), member.columns.end(), std::back_inserter(record.columns));
        }
        if (record.columns.empty()) base::fail_data({path + " cannot be read", "the group is empty"});
        return record;
    }

    FoundField list_field(std::string const& path, std::vector<Child> const& children, std::size_t depth) {
        auto lengths = dataset_field(path + "/cumulative_length");
        if (!sum_type(lengths.field.scalar) || !lengths.field.shape.empty()) {
            base::fail_data({path + " cannot be read", "its cumulative_length is not of integers of 4 or 8 bytes"});
        }
        auto const elements = std::find_if(children.begin(), children.end(),
                                           [](auto const& child) { return child.name == "flattened_data"; });
        auto element = field(path + "/flattened_data", *elements, depth + 1);
        auto columns = std::move(lengths.columns);
        std::move(element.columns.begin(), element.columns.end(), std::back_inserter(columns));
        if (attribute(path + "/flattened_data", "encoding") == "utf-8") {
            return {field_of(Kind::string), lengths.rows, std::move(columns)};
        }
        element.field.name.clear();
        auto list = field_of(Kind::list);
        list.members.push_back(std::move(element.field));
        return {std::move(list), lengths.rows, std::move(columns)};
    }

    ReadingFile& file_;
    FileHandle const& handle_;
    std::string root_name_;
};

std::string reasons(std::vector<model::LeftOut> const& left_out) {
    std::vector<std::string> lines;
    for (auto const& each : left_out) lines.push_back(each.str());
    if (lines.size() > kMostReasons) {
        lines[kMostReasons] = fmt::format("and {} more", lines.size() - kMostReasons);
        lines.resize(kMostReasons + 1);
    }
    return fmt::format("{}", fmt::join(lines, "; "));
}

std::string stem_of(std::string const& path) {
    auto const name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.find('.'));
}

} // namespace

Datasets read_foreign(model::RunMap& map, ReadingFile& file, FileHandle const& handle) {
    std::array<char, 4096> path{};
    H5Fget_name(handle.get(), path.data(), path.size());
    Explorer explorer(file, handle, stem_of(path.data()));
    explorer.explore("", 0);
    if (explorer.tables.empty()) {
        base::fail_data({std::string(path.data()) + " holds no table", reasons(explorer.left_out)});
    }
    map.left_out = std::move(explorer.left_out);
    Datasets datasets;
    for (auto& found : explorer.tables) {
        model::Table table{found.name, {}, ""};
        std::vector<Dataset> columns;
        for (auto& each : found.fields) {
            table.fields.push_back(std::move(each.field));
            std::move(each.columns.begin(), each.columns.end(), std::back_inserter(columns));
        }
        map.head.columns.push_back(model::flatten(table));
        model::TableLayout layout;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            auto& column = map.head.columns.back()[i];
            if (column.role == model::Column::Role::lengths) column.scalar = *sum_type(columns[i].scalar);
            layout.columns.push_back({columns[i].page_items, columns[i].codec});
            datasets.emplace(dataset_path(table, column), std::move(columns[i]));
        }
        map.head.layouts.push_back(std::move(layout));
        map.head.schema.tables.push_back(std::move(table));
    }
    model::validate(map.head.schema);
    return datasets;
}

} // namespace thalweg::format::hdf5
