#include "thalweg/format/hdf5/attribute_values.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <string_view>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"
#include "thalweg/format/hdf5/object_links.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Attribute, model::Scalar;

std::string named(std::string const& name) { return "the attribute '" + base::readable(name) + "'"; }

SpaceHandle space_of(std::vector<std::uint64_t> const& shape) {
    std::vector<hsize_t> const extents(shape.begin(), shape.end());
    if (shape.empty()) return {H5Screate(H5S_SCALAR), "a dataspace cannot be made"};
    return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "a dataspace cannot be made"};
}

[[noreturn]] void refuse(std::string why) { base::fail_data({std::move(why)}); }

std::optional<Scalar> integer_of(hid_t type) {
    bool const is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
    switch (H5Tget_size(type)) {
    case 1:
        return is_signed ? Scalar::int8 : Scalar::uint8;
    case 2:
        return is_signed ? Scalar::int16 : Scalar::uint16;
    case 4:
        return is_signed ? Scalar::int32 : Scalar::uint32;
    case 8:
        return is_signed ? Scalar::int64 : Scalar::uint64;
    default:
        return std::nullopt;
    }
}

// Which of ours holds every value of the type.
Scalar scalar_for(hid_t type) {
    if (auto const own = stored_type(type)) return own->scalar;
    auto const size_bytes = H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        if (auto const integer = integer_of(type)) return *integer;
        refuse(fmt::format("its integers have {} bytes", size_bytes));
    case H5T_FLOAT:
        if (size_bytes <= 4) return Scalar::float32;
        if (size_bytes == 8) return Scalar::float64;
        refuse(fmt::format("its numbers have {} bits", 8 * size_bytes));
    case H5T_ENUM:
        refuse("it is an enumeration, whose labels would be lost");
    case H5T_COMPOUND:
        refuse("it is a compound");
    case H5T_REFERENCE:
        refuse("it is a reference, which another file cannot hold");
    case H5T_VLEN:
        refuse("it holds lists of different length");
    case H5T_OPAQUE:
        refuse("its bytes are opaque");
    default:
        refuse("its type is not known");
    }
}

// The attribute's shape, and behind it that of the array type that its values may have.
std::vector<std::uint64_t> shape_of(hid_t attribute, hid_t type) {
    SpaceHandle const space(H5Aget_space(attribute), "its dataspace is unreadable");
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) refuse("it has no value (its dataspace is null)");
    std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "its dataspace is unreadable");
    if (H5Tget_class(type) == H5T_ARRAY) {
        std::vector<hsize_t> inner(static_cast<std::size_t>(std::max(0, H5Tget_array_ndims(type))));
        check(H5Tget_array_dims2(type, inner.data()), "its type is unreadable");
        extents.insert(extents.end(), inner.begin(), inner.end());
    }
    return {extents.begin(), extents.end()};
}

std::uint64_t count_of(std::vector<std::uint64_t> const& shape) {
    std::uint64_t count = 1;
    for (auto const extent : shape) {
        if (extent > model::kMaxAttributeBytes || count > model::kMaxAttributeBytes) refuse("it has more than 1 MiB");
        count *= extent;
    }
    return count;
}

std::vector<std::byte> read_numbers(hid_t attribute, hid_t type, Scalar scalar, std::uint64_t count) {
    auto memory = make_type(scalar);
    if (H5Tget_class(type) == H5T_ARRAY) {
        std::vector<hsize_t> inner(static_cast<std::size_t>(H5Tget_array_ndims(type)));
        check(H5Tget_array_dims2(type, inner.data()), "its type is unreadable");
        memory = {H5Tarray_create2(memory.get(), static_cast<unsigned>(inner.size()), inner.data()), "its type is bad"};
    }
    if (count * model::size_bytes(scalar) > model::kMaxAttributeBytes) refuse("it has more than 1 MiB");
    std::vector<std::byte> values(count * model::size_bytes(scalar));
    if (count > 0) check(H5Aread(attribute, memory.get(), values.data()), "it is unreadable");
    return values;
}

// What stands behind a text of fixed length is no part of it.
std::string_view trimmed(std::string_view text, H5T_str_t padding) {
    if (padding == H5T_STR_SPACEPAD) return text.substr(0, text.find_last_not_of(' ') + 1);
    if (padding == H5T_STR_NULLTERM) return text.substr(0, text.find('\0'));
    return text.substr(0, text.find_last_not_of('\0') + 1);
}

std::vector<std::string> read_variable(hid_t attribute, hid_t type, std::uint64_t count) {
    std::vector<char*> texts(count);
    if (count > 0) check(H5Aread(attribute, type, texts.data()), "it is unreadable");
    std::vector<std::string> values;
    for (auto* text : texts) {
        values.emplace_back(text != nullptr ? text : "");
        H5free_memory(text);
    }
    return values;
}

std::vector<std::string> read_texts(hid_t attribute, hid_t type, std::uint64_t count) {
    if (H5Tget_class(type) == H5T_ARRAY) refuse("it is an array type of texts");
    std::vector<std::string> values;
    if (H5Tis_variable_str(type) > 0) {
        values = read_variable(attribute, type, count);
    } else {
        auto const size_bytes = H5Tget_size(type);
        if (size_bytes > model::kMaxAttributeBytes || count * size_bytes > model::kMaxAttributeBytes)
            refuse("it has more than 1 MiB");
        std::string all(count * size_bytes, '\0');
        if (count > 0) check(H5Aread(attribute, type, all.data()), "it is unreadable");
        auto const padding = H5Tget_strpad(type);
        for (std::uint64_t i = 0; i < count; ++i)
            values.emplace_back(trimmed(std::string_view(all).substr(i * size_bytes, size_bytes), padding));
    }
    return values;
}

Attribute read_one(FileHandle const& file, std::string const& path, std::string const& name) {
    AttributeHandle const attribute(H5Aopen_by_name(file.get(), path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                                    "it cannot be opened");
    TypeHandle const type(H5Aget_type(attribute.get()), "its type is unreadable");
    Attribute found{name, {}, shape_of(attribute.get(), type.get()), {}, {}};
    auto const count = count_of(found.shape);
    bool const is_array = H5Tget_class(type.get()) == H5T_ARRAY;
    TypeHandle const base(is_array ? H5Tget_super(type.get()) : H5Tcopy(type.get()), "its type is unreadable");
    if (H5Tget_class(base.get()) == H5T_STRING) {
        found.texts = read_texts(attribute.get(), type.get(), count);
    } else {
        found.scalar = scalar_for(base.get());
        found.values = read_numbers(attribute.get(), type.get(), *found.scalar, count);
    }
    return found;
}

herr_t take_name(hid_t, char const* name, H5A_info_t const*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

// Few are asked for one by one, which opens no object. That takes the square of their number, and many are too rare to
// be those of a virtual dataset of ours.
constexpr std::uint64_t kFew = 64;

std::vector<std::string> names_of(FileHandle const& file, std::string const& path) {
    std::vector<std::string> names;
    auto const count = facts_of(file, path).attributes;
    if (count > kFew) {
        check(H5Aiterate_by_name(file.get(), path.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names,
                                 H5P_DEFAULT),
              "the attributes are unreadable");
    }
    for (auto i = names.size(); i < count; ++i) {
        AttributeHandle const attribute(
            H5Aopen_by_idx(file.get(), path.c_str(), H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
            "the attributes are unreadable");
        auto const size = H5Aget_name(attribute.get(), 0, nullptr);
        if (size < 0) base::fail_data({"the name of an attribute is unreadable"});
        std::string name(static_cast<std::size_t>(size), '\0');
        H5Aget_name(attribute.get(), name.size() + 1, name.data());
        names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
}

} // namespace

void write_attribute(hid_t object, Attribute const& attribute) {
    auto const what = named(attribute.name) + " cannot be written";
    auto const type = attribute.scalar ? make_type(*attribute.scalar) : text_type();
    PropertyHandle const creation(H5Pcreate(H5P_ATTRIBUTE_CREATE), what);
    check(H5Pset_char_encoding(creation.get(), H5T_CSET_UTF8), what);
    AttributeHandle const made(H5Acreate2(object, attribute.name.c_str(), type.get(), space_of(attribute.shape).get(),
                                          creation.get(), H5P_DEFAULT),
                               what);
    if (attribute.count() == 0) return;
    if (attribute.scalar) return check(H5Awrite(made.get(), type.get(), attribute.values.data()), what);
    std::vector<char const*> texts;
    for (auto const& text : attribute.texts) texts.push_back(text.c_str());
    check(H5Awrite(made.get(), type.get(), texts.data()), what);
}

model::Attributes read_attributes(FileHandle const& file, std::string const& path, NotKept const& not_kept) {
    model::Attributes attributes;
    for (auto const& name : names_of(file, path)) {
        try {
            auto found = read_one(file, path, name);
            auto const why = model::why_it_cannot_be_kept(found);
            if (!why.empty()) refuse(why);
            attributes.push_back(std::move(found));
        } catch (base::Error const& error) {
            not_kept(name, error.what());
        }
    }
    return attributes;
}

} // namespace thalweg::format::hdf5
