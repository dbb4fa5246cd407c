#include "thalweg/format/hdf5/others/field_finder.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5::others {
namespace {

using model::Kind;
using model::Scalar;

constexpr std::size_t kMaxDepth = 32;
// Groups that link to each other may be found under more names than can be counted.
constexpr std::size_t kMostRepeats = 1000;
constexpr auto kLengths = "cumulative_length";
constexpr auto kElements = "flattened_data";
constexpr auto kParts = ".parts"; // of the lists of a file of ours whose records are gone

// Empty where a field can have it.
std::string fault_of_name(std::string const& name) {
    try {
        model::validate({{{"table", {{.name = name}}, ""}}});
        return "";
    } catch (base::Error const& error) {
        std::string const why = error.what();
        return why.substr(why.find('(') + 1, why.rfind(')') - why.find('(') - 1);
    }
}

} // namespace

bool is_list(std::vector<Child> const& children) {
    auto const has = [&](std::string_view name) {
        return std::ranges::any_of(children, [&](auto const& child) { return child.name == name; });
    };
    return has(kLengths) && has(kElements);
}

std::vector<Child> FieldFinder::children(std::string const& path) {
    auto children = children_of(handle_, path);
    std::ranges::move(children.left_out, std::back_inserter(left_out));
    return std::move(children.found);
}

std::optional<std::string> FieldFinder::attribute(std::string const& path, std::string const& name) const {
    try {
        ObjectHandle const object(H5Oopen(handle_.get(), path.c_str(), H5P_DEFAULT), path + " cannot be read");
        return read_text(object.get(), name);
    } catch (base::DataError const&) {
        return std::nullopt; // of another kind: it does not mean what ours means
    }
}

bool FieldFinder::leads_back(std::string const& path, Child const& child) {
    if (!child.is_group || !entered_.contains(child.id)) return false;
    notes.push_back(path + " leads back to a group that it is in: it is not followed");
    return true;
}

std::vector<FoundField> FieldFinder::fields(std::string const& path, std::vector<Child> const& children,
                                            std::size_t depth) {
    std::vector<FoundField> found;
    for (auto const& child : children) {
        auto const child_path = path + "/" + child.name;
        try {
            if (leads_back(child_path, child)) continue;
            if (auto each = field(child_path, child, depth + 1)) found.push_back(std::move(*each));
        } catch (base::DataError const& error) {
            leave_out(child_path, why_of(error.what(), child_path));
        }
    }
    return found;
}

std::optional<FoundField> FieldFinder::field(std::string const& path, Child const& child, std::size_t depth) {
    auto const fail = [&](std::string const& why) { base::fail_data({path + " cannot be read", why}); };
    if (depth > kMaxDepth) fail("it is nested too deeply");
    if (auto const fault = fault_of_name(child.name); !fault.empty()) fail(fault);
    auto const [first, is_new] = seen_.emplace(child.id, path);
    bool const is_repeat = !is_new && first->second != path;
    if (is_repeat && child.is_group && ++repeats_ > kMostRepeats) fail("links show the same groups again and again");
    auto found = child.is_group ? group(path, child, depth) : dataset(path);
    if (!found) return found;
    if (is_repeat) notes.push_back(fmt::format("{} is {} under another name", path, first->second));
    found->path = path;
    found->field.name = child.name;
    if (found->field.unit.empty()) found->field.unit = attribute(path, "units").value_or("");
    found->field.description = attribute(path, "description").value_or("");
    return found;
}

FoundField FieldFinder::dataset(std::string const& path) {
    StoredDataset stored(file_, handle_, path);
    auto const& facts = stored.facts();
    FoundField found{{.kind = Kind::scalar, .scalar = facts.scalar, .shape = facts.shape}, path, facts.items, {}, {}};
    found.columns.push_back(stored.read_or_leave());
    return found;
}

// None where nothing in it can be read, which is said of what is in it.
std::optional<FoundField> FieldFinder::group(std::string const& path, Child const& child, std::size_t depth) {
    Entered const entered(*this, child.id);
    auto below = children(path);
    if (std::erase_if(below, [](auto const& each) { return each.name == kParts; }) > 0) {
        leave_out(path + "/" + kParts, "it holds what a virtual dataset beside it shows");
    }
    auto const before = left_out.size();
    FoundField found{{.kind = Kind::record}, path, 0, {}, fields(path, below, depth)};
    if (is_list(below)) make_list(found);
    if (found.field.kind != Kind::record || !found.members.empty()) return found;
    if (left_out.size() == before) leave_out(path, "the group is empty");
    return std::nullopt;
}

// Makes a list of a struct that has running sums and elements. Any other struct stays what it is.
void FieldFinder::make_list(FoundField& group) {
    auto const find = [&group](std::string_view name) {
        return std::ranges::find(group.members, name, [](auto const& each) { return each.field.name; });
    };
    if (find(kLengths) == group.members.end() || find(kElements) == group.members.end()) return;
    auto& lengths = *find(kLengths);
    auto& element = *find(kElements);
    bool const is_record = element.field.kind == Kind::record;
    auto const items = common_rows(element.members);
    bool const is_number = lengths.field.kind == Kind::scalar && lengths.field.shape.empty();
    if (!is_number || !sum_type(lengths.field.scalar) || (is_record && !items)) return;
    if (is_record) split_off(element.members, *items, apart);
    group.rows = lengths.rows;
    group.columns = std::move(lengths.columns);
    auto const& type = element.field;
    bool const is_bytes = type.kind == Kind::scalar && type.scalar == Scalar::uint8 && type.shape.empty();
    bool const is_text = is_bytes && attribute(element.path, "encoding") == "utf-8";
    group.field.kind = is_text ? Kind::string : Kind::list;
    if (is_text) std::ranges::move(element.columns, std::back_inserter(group.columns));
    std::vector<FoundField> inside;
    for (auto& each : group.members) {
        if (&each == &lengths || (is_text && &each == &element)) continue;
        (&each == &element ? inside : apart).push_back(std::move(each));
    }
    if (!inside.empty()) inside[0].field.name.clear();
    group.members = std::move(inside);
}

} // namespace thalweg::format::hdf5::others
