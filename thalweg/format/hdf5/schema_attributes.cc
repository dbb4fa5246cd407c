#include "thalweg/format/hdf5/schema_attributes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"
#include "thalweg/format/hdf5/attribute_values.h"
#include "thalweg/format/hdf5/object_creation.h"
#include "thalweg/format/hdf5/object_links.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Attributes, model::Field, model::Kind;

constexpr std::size_t kMaxTypeDepth = 32;
constexpr std::string_view kElements = "/flattened_data";
constexpr std::string_view kLengths = "/cumulative_length";
// Which datasets are the axes of which others, by references: HDF5's own bookkeeping of dimension scales. Names and
// values say which is the axis of which; a file of NetCDF-4 without them misses nothing that a table could hold.
constexpr std::array<std::string_view, 2> kScaleReferences{"DIMENSION_LIST", "REFERENCE_LIST"};

// Calls `use` with the path of every field that has an object of its own, and the field.
template <typename Fields, typename Use> void for_each_field(std::string const& path, Fields& fields, Use const& use) {
    for (auto& field : fields) {
        // The element of a list has no name.
        auto const own = path + (field.name.empty() ? std::string(kElements) : "/" + field.name);
        use(own, field);
        for_each_field(own, field.members, use);
    }
}

ObjectHandle open_object(FileHandle const& handle, std::string const& path) {
    return {H5Oopen(handle.get(), path.c_str(), H5P_DEFAULT), path + " cannot be opened"};
}

void write_all(FileHandle const& handle, std::string const& path, Attributes const& attributes) {
    if (attributes.empty()) return;
    auto const object = open_object(handle, path);
    for (auto const& attribute : attributes) write_attribute(object.get(), attribute);
}

// Whether every link on the way to a path is there; H5Lexists fails where one is not.
bool link_exists(FileHandle const& handle, std::string const& path) {
    for (auto end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1)) {
        if (H5Lexists(handle.get(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
    }
    return H5Lexists(handle.get(), path.c_str(), H5P_DEFAULT) > 0 &&
           H5Oexists_by_name(handle.get(), path.c_str(), H5P_DEFAULT) > 0;
}

herr_t take_name(hid_t, char const* name, H5L_info_t const* link, void* names) {
    if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

// The objects that the attributes of a schema are read from.
class AttributeReader {
  public:
    AttributeReader(FileHandle const& handle, std::vector<model::LeftOut>& left_out)
        : handle_(handle), left_out_(left_out) {}

    // Texts of these names are what the schema has as members.
    struct Members {
        std::string* unit = nullptr;
        std::string* description = nullptr;
    };

    Attributes read(std::string const& path, Members const& members) {
        if (path != "/" && !link_exists(handle_, path)) return {};
        Attributes attributes;
        try {
            attributes = read_attributes(handle_, path, [&](auto const& name, auto const& why) {
                if (std::ranges::find(kScaleReferences, name) != kScaleReferences.end()) return;
                auto const* member = member_of(name, members); // which shows what can be shown of it
                if (member == nullptr || member->empty()) leave_out(name, path, why);
            });
        } catch (base::DataError const& error) {
            left_out_.push_back({"the attributes of " + base::readable(path), error.what()});
        }
        std::erase_if(attributes, [&](auto const& each) { return is_member(each, path, members); });
        return attributes;
    }

    // Leaves out the attributes of objects that are no field, but for those that say what the object is.
    void expect_none(std::string const& path) {
        for (auto const& attribute : read(path, {})) {
            if (attribute.name != "encoding") leave_out(attribute.name, path, "the object is a part of a list");
        }
    }

    Attributes read_field(std::string const& path, Field& field) {
        fields_.insert(path);
        if (field.kind == Kind::list || field.kind == Kind::string) expect_none(path + std::string(kLengths));
        if (field.kind == Kind::string) expect_none(path + std::string(kElements));
        return read(path, {&field.unit, &field.description});
    }

    // Groups that are no tables and in none.
    void groups(model::Schema& schema, std::string const& path, std::size_t depth) {
        if (depth == 0) seen_.insert(facts_if_readable("/").id);
        if (depth > kMaxTypeDepth) return;
        for (auto const& name : names_in(path)) {
            auto const own = path + "/" + name;
            if (own == "/thalweg") continue;
            // Hard links may show one group in very many places: the first one counts.
            auto const facts = facts_if_readable(own);
            if (facts.attributes > 0 && facts.is_named_type) {
                left_out_.push_back({"the attributes of " + base::readable(own), "a named type is no object of ours",
                                     model::LeftOut::Reason::group_name});
            }
            if (!facts.is_group || !seen_.insert(facts.id).second) continue;
            if (fields_.contains(own)) { // its own attributes are those of the field
                groups(schema, own, depth + 1);
                continue;
            }
            // Tables may be called otherwise than their groups.
            auto const is_taken = [&](auto const& table) { return (own + "/").starts_with("/" + table.name + "/"); };
            auto attributes = read(own, {});
            if (!base::is_utf8(own) || own.find_first_of("*{},") != own.npos ||
                std::ranges::any_of(schema.tables, is_taken)) {
                if (!attributes.empty())
                    left_out_.push_back({"the attributes of " + base::readable(own),
                                         "no group of ours can have that name, or lie in a table",
                                         model::LeftOut::Reason::group_name});
            } else if (!attributes.empty()) {
                schema.groups.push_back({own.substr(1), std::move(attributes)});
            }
            groups(schema, own, depth + 1);
        }
    }

    // For the one table that a group is.
    bool claim(std::string const& path) { return fields_.insert(path).second; }

  private:
    std::vector<std::string> names_in(std::string const& path) {
        std::vector<std::string> names;
        try {
            auto const group = open_object(handle_, path.empty() ? "/" : path);
            check(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names), "it is unreadable");
        } catch (base::DataError const& error) {
            left_out_.push_back({"what is in " + base::readable(path) + "/", error.what()});
        }
        return names;
    }

    // What is not readable is named where its contents are looked for.
    ObjectFacts facts_if_readable(std::string const& path) {
        try {
            return facts_of(handle_, path);
        } catch (base::DataError const&) {
            return {};
        }
    }

    void leave_out(std::string const& name, std::string const& path, std::string const& why) {
        left_out_.push_back({fmt::format("the attribute '{}' of {}", base::readable(name), base::readable(path)), why});
    }

    static std::string* member_of(std::string const& name, Members const& members) {
        if (name == "units") return members.unit;
        return name == "description" ? members.description : nullptr;
    }

    bool is_member(model::Attribute const& attribute, std::string const& path, Members const& members) {
        bool const is_text = !attribute.scalar && attribute.texts.size() == 1;
        if (attribute.name == "datatype") {
            if (!is_text) leave_out(attribute.name, path, "lh5 has a meaning for that name");
            return true;
        }
        auto* member = member_of(attribute.name, members);
        if (member == nullptr || (!is_text && member->empty())) return false;
        if (is_text) {
            *member = attribute.texts[0];
        } else {
            leave_out(attribute.name, path, "it is no text, as that of the run was");
        }
        return true;
    }

    FileHandle const& handle_;
    std::vector<model::LeftOut>& left_out_;
    std::set<ObjectId> seen_;
    std::set<std::string> fields_; // and groups that are tables
};

} // namespace

void write_schema_attributes(model::Schema const& schema, FileHandle const& handle) {
    write_all(handle, "/", schema.attributes);
    for (auto const& group : schema.groups) {
        auto const path = "/" + group.name;
        make_groups_above(handle, path + "/");
        write_all(handle, path, group.attributes);
    }
    for (auto const& table : schema.tables) {
        write_all(handle, "/" + table.name, table.attributes);
        for_each_field("/" + table.name, table.fields,
                       [&](auto const& path, Field const& field) { write_all(handle, path, field.attributes); });
    }
}

void read_schema_attributes(model::Schema& schema, FileHandle const& handle, std::vector<std::string> const& groups,
                            std::vector<model::LeftOut>& left_out) {
    AttributeReader reader(handle, left_out);
    schema.groups.clear();
    schema.attributes = reader.read("/", {});
    for (std::size_t t = 0; t < schema.tables.size(); ++t) {
        auto& table = schema.tables[t];
        table.attributes.clear();
        // A column of another length is a table beside that of its group, or in it. What the root has is the run's.
        bool const lies_inside = ("/" + table.name).starts_with(groups[t] + "/") && "/" + table.name != groups[t];
        if (!groups[t].empty() && !lies_inside && reader.claim(groups[t]))
            table.attributes = reader.read(groups[t], {.description = &table.description});
        for_each_field(groups[t], table.fields,
                       [&](auto const& own, Field& field) { field.attributes = reader.read_field(own, field); });
    }
    reader.groups(schema, "", 0);
}

std::vector<std::string> groups_of_tables(model::Schema const& schema) {
    std::vector<std::string> groups;
    for (auto const& table : schema.tables) groups.push_back("/" + table.name);
    return groups;
}

} // namespace thalweg::format::hdf5
