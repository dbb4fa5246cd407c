#include "thalweg/format/rntuple/schema/describe_names.h"

#include <array>
#include <cctype>
#include <fmt/format.h>
#include <string_view>

#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {
namespace {

// Templates of one argument that are collections on the disk, and what to write for them: ROOT reads RVec and
// std::vector from the same bytes, JSROOT knows only the second.
struct Collection {
    std::string_view given;
    std::string_view written;
};
constexpr std::array kCollections = {
    Collection{"std::vector<", "std::vector"},
    Collection{"std::set<", "std::set"},
    Collection{"std::multiset<", "std::multiset"},
    Collection{"std::unordered_set<", "std::unordered_set"},
    Collection{"std::unordered_multiset<", "std::unordered_multiset"},
    Collection{"std::optional<", "std::optional"},
    Collection{"std::unique_ptr<", "std::unique_ptr"},
    Collection{"ROOT::VecOps::RVec<", "std::vector"},
    Collection{"ROOT::RVec<", "std::vector"},
};

Collection const* collection_of(std::string_view name) {
    for (auto const& collection : kCollections) {
        if (name.starts_with(collection.given) && name.ends_with('>')) return &collection;
    }
    return nullptr;
}

// "float" of "std::array<std::array<float,3>,2>".
std::string_view without_arrays(std::string_view name) {
    constexpr std::string_view kArray = "std::array<";
    while (name.starts_with(kArray) && name.rfind(',') != name.npos) {
        name = name.substr(kArray.size(), name.rfind(',') - kArray.size());
    }
    return name;
}

// What C++ allows in a name.
std::string identifier(std::string_view text) {
    std::string result(text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ? "_" : "");
    for (unsigned char const character : text) {
        result += std::isalnum(character) && character < 0x80 ? static_cast<char>(character) : '_';
    }
    return result;
}

NamedField named(model::Field const& field, std::string_view given, std::string class_name) {
    return {&field, field.type_name.empty() ? std::string(without_arrays(given)) : field.type_name,
            std::move(class_name)};
}

std::string list_name(NamedField const& list) {
    auto const* const collection = collection_of(list.given);
    if (!collection && !list.given.empty()) return list.given; // a map, or a class of the user
    return fmt::format("{}<{}>", collection ? collection->written : "std::vector", type_name_of(list.element(), 0));
}

} // namespace

NamedField NamedField::element() const {
    auto const* const collection = collection_of(given);
    std::string_view inner = given;
    inner = collection ? inner.substr(collection->given.size(), inner.size() - collection->given.size() - 1) : "";
    return named(field->members[0], inner, class_name);
}

NamedField NamedField::member(std::size_t index) const {
    auto const& inner = field->members[index];
    return named(inner, "", class_name + "::" + identifier(inner.name));
}

NamedField top_level(model::Table const& table, std::size_t index) {
    std::string name;
    for (std::size_t begin = 0; begin <= table.name.size();) {
        auto const end = std::min(table.name.find('/', begin), table.name.size());
        name += identifier(std::string_view(table.name).substr(begin, end - begin)) + "::";
        begin = end + 1;
    }
    auto const& field = table.fields[index];
    return named(field, "", name + identifier(field.name));
}

std::string type_name_of(NamedField const& item, std::size_t dimensions) {
    auto const& field = *item.field;
    if (dimensions < field.shape.size()) {
        return fmt::format("std::array<{},{}>", type_name_of(item, dimensions + 1), field.shape[dimensions]);
    }
    switch (field.kind) {
    case model::Kind::scalar:
        return std::string(type_name_of(field.scalar));
    case model::Kind::string:
        return "std::string";
    case model::Kind::list:
        return list_name(item);
    case model::Kind::record:
        break;
    }
    // A variant that was read is a struct here, and written as one.
    return item.given.empty() || item.given.starts_with("std::variant<") ? item.class_name : item.given;
}

} // namespace thalweg::format::rntuple
