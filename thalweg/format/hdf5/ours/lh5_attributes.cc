#include "thalweg/format/hdf5/ours/lh5_attributes.h"

#include <map>
#include <set>

#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5::ours {
namespace {

using model::Field;
using model::Kind;

std::string joined(auto const& names) {
    std::string text;
    for (auto const& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
}

bool is_list(Field const& field) { return field.kind == Kind::list || field.kind == Kind::string; }

// What lh5 knows as vectors of vectors: of single values, to any depth. `rank`: of the fixed sizes that an item of the
// field has, those of enclosing structs included.
bool is_vector(Field const& field, std::size_t rank) {
    if (!is_list(field) || rank > 0) return false;
    if (field.kind == Kind::string) return true;
    auto const& element = field.members[0];
    auto const element_rank = element.shape.size();
    return is_vector(element, element_rank) || (element.kind == Kind::scalar && element_rank == 0);
}

// Other lists are left out, so that tools can read the table without them: they would refuse it whole.
std::string table_type(std::vector<Field> const& fields, std::size_t rank) {
    std::vector<std::string> names;
    for (auto const& field : fields) {
        if (!is_list(field) || is_vector(field, rank + field.shape.size())) names.push_back(field.name);
    }
    return "table{" + joined(names) + "}";
}

std::string type_of(Field const& field, std::size_t rank) {
    switch (field.kind) {
    case Kind::scalar:
        return lh5_array(rank, lh5_scalar(field.scalar));
    case Kind::record:
        return table_type(field.members, rank);
    case Kind::string:
        break;
    case Kind::list:
        if (is_vector(field, rank)) return lh5_array(0, type_of(field.members[0], 0));
    }
    return is_vector(field, rank) ? lh5_array(0, lh5_array(0, "real")) : "struct{cumulative_length,flattened_data}";
}

class AttributeWriter {
  public:
    explicit AttributeWriter(FileHandle const& handle) : handle_(handle) {}

    void text(std::string const& path, std::string const& name, std::string const& value) const {
        if (value.empty()) return;
        ObjectHandle const object(H5Oopen(handle_.get(), path.c_str(), H5P_DEFAULT), path + " cannot be opened");
        write_text(object.get(), name, value);
    }

    void table(std::string const& path, model::Table const& table) const {
        text(path, "datatype", table_type(table.fields, 0));
        text(path, "description", table.description);
        for (auto const& each : table.fields) field(path + "/" + each.name, each, 0);
    }

  private:
    void field(std::string const& path, Field const& field, std::size_t outer_rank) const {
        auto const rank = outer_rank + field.shape.size();
        text(path, "datatype", type_of(field, rank));
        text(path, "units", field.unit);
        text(path, "description", field.description);
        if (field.kind == Kind::record) {
            for (auto const& member : field.members) this->field(path + "/" + member.name, member, rank);
        } else if (field.kind != Kind::scalar) {
            text(path + "/cumulative_length", "datatype", lh5_array(rank, "real"));
            elements(path + "/flattened_data", field);
        }
    }

    void elements(std::string const& path, Field const& list) const {
        if (list.kind == Kind::list) return field(path, list.members[0], 0);
        text(path, "datatype", lh5_array(0, "real"));
        text(path, "encoding", "utf-8");
    }

    FileHandle const& handle_;
};

// The groups above the tables, "" for the root, and what is in each.
std::map<std::string, std::set<std::string>> groups_above(model::Schema const& schema) {
    std::map<std::string, std::set<std::string>> groups{{"", {}}};
    for (auto const& table : schema.tables) {
        std::string group;
        auto rest = table.name;
        for (auto slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
            auto const name = rest.substr(0, slash);
            groups[group].insert(name);
            group += "/" + name;
            rest = rest.substr(slash + 1);
        }
        groups[group].insert(rest);
    }
    return groups;
}

} // namespace

void describe_tables(model::Schema const& schema, FileHandle const& handle) {
    AttributeWriter const describer(handle);
    for (auto const& [path, names] : groups_above(schema)) {
        describer.text(path.empty() ? "/" : path, "datatype", "struct{" + joined(names) + "}");
    }
    for (auto const& table : schema.tables) describer.table("/" + table.name, table);
}

} // namespace thalweg::format::hdf5::ours
