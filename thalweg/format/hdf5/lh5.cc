#include "thalweg/format/hdf5/lh5.h"

#include <map>
#include <set>

#include "thalweg/format/hdf5/attributes.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Field;
using model::Kind;

std::string joined(auto const& names) {
    std::string text;
    for (auto const& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
}

std::string table_type(std::vector<Field> const& fields) {
    std::vector<std::string> names;
    for (auto const& field : fields) names.push_back(field.name);
    return "table{" + joined(names) + "}";
}

// `rank`: of the fixed sizes that an item of this field has, those of enclosing structs included.
std::string type_of(Field const& field, std::size_t rank) {
    switch (field.kind) {
    case Kind::scalar: return lh5_array(rank, lh5_scalar(field.scalar));
    case Kind::string: return lh5_array(rank, lh5_array(0, "real"));
    case Kind::list: return lh5_array(rank, type_of(field.members[0], field.members[0].shape.size()));
    case Kind::record: return table_type(field.members);
    }
    return "";
}

class Describer {
  public:
    explicit Describer(FileHandle const& handle) : handle_(handle) {}

    void text(std::string const& path, std::string const& name, std::string const& value) const {
        if (value.empty()) return;
        ObjectHandle const object(H5Oopen(handle_.get(), path.c_str(), H5P_DEFAULT), path + " cannot be opened");
        write_text(object.get(), name, value);
    }

    void table(std::string const& path, model::Table const& table) const {
        text(path, "datatype", table_type(table.fields));
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
    Describer const describer(handle);
    for (auto const& [path, names] : groups_above(schema)) {
        describer.text(path.empty() ? "/" : path, "datatype", "struct{" + joined(names) + "}");
    }
    for (auto const& table : schema.tables) describer.table("/" + table.name, table);
}

} // namespace thalweg::format::hdf5
