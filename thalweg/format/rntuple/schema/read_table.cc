#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/schema/physical_columns.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {
namespace {

using model::Field;
using model::Kind;

constexpr std::size_t kMaxDepth = 30; // the model's, with room for the two levels of a variant
constexpr std::uint64_t kMaxValues = std::numeric_limits<std::uint32_t>::max() / 16;

// A field of the model, and where its columns come from, in the order of model::flatten.
struct Branch {
    Field field;
    std::vector<ColumnSource> columns;
};

// The place of a field in the nesting.
struct FieldPlace {
    std::string path;
    std::size_t depth = 0;
    std::uint64_t values = 1; // in one item of the list or table that it is in
};

void append(std::vector<ColumnSource>& to, std::vector<ColumnSource>&& more) {
    std::ranges::move(more, std::back_inserter(to));
}

class TableReader {
  public:
    TableReader(std::string const& name, SchemaDescription const& schema)
        : name_(name), schema_(schema), physical_(schema), children_(schema.fields.size()) {
        for (std::uint32_t i = 0; i < schema.fields.size(); ++i) {
            auto const parent = schema.fields[i].parent;
            (parent == i ? top_level_ : children_[parent]).push_back(i);
        }
    }

    ForeignTable read(std::string const& description) {
        ForeignTable result;
        auto all = read_members(top_level_, {});
        result.table = {name_, std::move(all.field.members), description};
        result.columns = model::flatten(result.table);
        for (auto& column : all.columns) {
            result.layout.columns.push_back({0, column.source.representations[0].codec});
            result.sources.push_back(std::move(column.source));
        }
        result.left_out = std::move(left_out_);
        return result;
    }

  private:
    using MaybeBranch = std::optional<Branch>;

    // Lists why the field is left out, and returns nothing.
    std::nullopt_t leave_out(FieldPlace const& place, std::string const& why) {
        left_out_.push_back({fmt::format("{}/{}", name_, place.path), why});
        return std::nullopt;
    }

    MaybeBranch read_field(std::uint32_t id, FieldPlace const& place) {
        auto const& description = schema_.fields[id];
        if (place.depth > kMaxDepth) return leave_out(place, "it is nested too deeply");
        auto branch = read_role(id, place);
        if (!branch) return branch;
        branch->field.name = description.name;
        branch->field.description = description.description;
        return branch;
    }

    MaybeBranch read_role(std::uint32_t id, FieldPlace const& place) {
        switch (schema_.fields[id].role) {
        case FieldRole::leaf:
            return schema_.fields[id].array_size ? read_array(id, place) : read_leaf(id, place);
        case FieldRole::collection:
            return read_collection(id, place);
        case FieldRole::record:
            return read_record(id, place);
        case FieldRole::variant:
            return read_variant(id, place);
        case FieldRole::streamer:
            return leave_out(place, "objects streamed by ROOT are not read");
        }
        return leave_out(place, "it has a structure that is not known here");
    }

    // std::array, and std::bitset, which has no field inside.
    MaybeBranch read_array(std::uint32_t id, FieldPlace place) {
        auto const size = *schema_.fields[id].array_size;
        if (size == 0) return leave_out(place, "its arrays are empty");
        if (size > kMaxValues / place.values) return leave_out(place, "one item is too large");
        place.values *= size;
        ++place.depth;
        auto branch = children_[id].empty() ? read_leaf(id, place) : read_only_child(id, place);
        if (branch) branch->field.shape.insert(branch->field.shape.begin(), size);
        if (branch && children_[id].empty()) branch->field.type_name.clear(); // of the whole, not of a bit
        return branch;
    }

    MaybeBranch read_only_child(std::uint32_t id, FieldPlace place) {
        if (children_[id].size() != 1) return leave_out(place, "it should have one field inside");
        ++place.depth;
        return read_field(children_[id][0], place);
    }

    // Numbers and strings; enums and atomics, which have their number inside.
    MaybeBranch read_leaf(std::uint32_t id, FieldPlace const& place) {
        auto const& description = schema_.fields[id];
        if (physical_.of(id).empty() && children_[id].size() == 1) {
            auto branch = read_only_child(id, place);
            if (!branch) return branch;
            // ROOT calls the number inside of an enum of std::int8_t a char: it has a sign.
            bool const atomic = description.type_name.starts_with("std::atomic<");
            if (branch->field.type_name == "char" && !atomic) branch->field.scalar = model::Scalar::int8;
            branch->field.type_name = description.type_name;
            return branch;
        }
        std::string why;
        if (auto text = physical_.text(id, why)) {
            Field field{.kind = Kind::string};
            if (description.type_name != "std::string") field.type_name = description.type_name;
            return Branch{std::move(field), std::move(*text)};
        }
        bool const cardinality = description.type_name.find("RNTupleCardinality") != std::string::npos;
        auto numbers = cardinality ? physical_.sums(id, why) : physical_.numbers(id, why);
        if (!numbers) return leave_out(place, why);
        Field field{.scalar = numbers->scalar};
        if (description.type_name != type_name_of(field.scalar)) field.type_name = description.type_name;
        return Branch{std::move(field), {std::move(*numbers)}};
    }

    MaybeBranch read_collection(std::uint32_t id, FieldPlace const& place) {
        std::string why;
        auto sums = physical_.sums(id, why);
        if (!sums) return leave_out(place, why);
        auto element = read_element(id, {place.path, place.depth + 1, 1});
        if (!element) return std::nullopt;
        element->field.name.clear();
        Branch list{{.kind = Kind::list, .type_name = schema_.fields[id].type_name}, {std::move(*sums)}};
        append(list.columns, std::move(element->columns));
        list.field.members.push_back(std::move(element->field));
        return list;
    }

    // Untyped collections may have several fields: those of a struct that has none of its own.
    MaybeBranch read_element(std::uint32_t id, FieldPlace const& place) {
        auto const& children = children_[id];
        return children.size() == 1 ? read_field(children[0], place) : read_nonempty(children, place);
    }

    MaybeBranch read_record(std::uint32_t id, FieldPlace const& place) {
        auto record = read_nonempty(children_[id], place);
        if (record) record->field.type_name = schema_.fields[id].type_name;
        return record;
    }

    // The model has no struct without members. Where it is listed why they are missing, no more is said.
    MaybeBranch read_nonempty(std::vector<std::uint32_t> const& ids, FieldPlace const& place) {
        auto const before = left_out_.size();
        auto record = read_members(ids, place);
        if (!record.field.members.empty()) return record;
        if (left_out_.size() == before) return leave_out(place, "it has no members");
        return std::nullopt;
    }

    // What cannot be read is left out; its siblings stay.
    Branch read_members(std::vector<std::uint32_t> const& ids, FieldPlace const& place) {
        Branch record{{.kind = Kind::record}, {}};
        std::set<std::string_view> names;
        for (auto const id : ids) {
            auto const& name = schema_.fields[id].name;
            FieldPlace const inner{place.path + (place.path.empty() ? "" : ".") + name, place.depth + 1, place.values};
            if (!names.insert(name).second || !is_name(name)) {
                leave_out(inner, "its name cannot be kept");
                continue;
            }
            auto member = read_field(id, inner);
            if (!member) continue;
            append(record.columns, std::move(member->columns));
            record.field.members.push_back(std::move(member->field));
        }
        return record;
    }

    // What model::validate asks of a name.
    static bool is_name(std::string_view name) {
        return !name.empty() && name != "." && name != ".." && name.find('\0') == name.npos &&
               name.find_first_of("/*{},") == name.npos;
    }

    MaybeBranch read_variant(std::uint32_t id, FieldPlace const& place) {
        Branch variant{{.kind = Kind::record, .type_name = schema_.fields[id].type_name}, {}};
        std::uint32_t tag = 0;
        for (auto const child : children_[id]) {
            std::string why;
            auto chosen = physical_.alternative(id, ++tag, why);
            if (!chosen) return leave_out(place, why);
            auto const& name = schema_.fields[child].name;
            if (!is_name(name)) return leave_out(place, "the name of an alternative cannot be kept");
            auto value = read_field(child, {place.path + "." + name, place.depth + 2, 1});
            if (!value) return std::nullopt;
            variant.columns.push_back(std::move(*chosen));
            append(variant.columns, std::move(value->columns));
            value->field.name.clear();
            variant.field.members.push_back(
                {.name = name,
                 .kind = Kind::list,
                 .members = {std::move(value->field)},
                 .type_name = fmt::format("std::optional<{}>", schema_.fields[child].type_name)});
        }
        if (variant.field.members.empty()) return leave_out(place, "it has no alternatives");
        return variant;
    }

    std::string const& name_;
    SchemaDescription const& schema_;
    PhysicalColumns physical_;
    std::vector<std::uint32_t> top_level_;
    std::vector<std::vector<std::uint32_t>> children_;
    std::vector<model::LeftOut> left_out_;
};

} // namespace

ForeignTable read_table(std::string const& name, Header const& header, SchemaDescription const& schema) {
    check_references(schema, fmt::format("table '{}' cannot be read", name));
    return TableReader(name, schema).read(header.description);
}

} // namespace thalweg::format::rntuple
