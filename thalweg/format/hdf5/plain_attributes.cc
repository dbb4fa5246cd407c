#include "thalweg/format/hdf5/plain_attributes.h"

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5 {
namespace {

AttributeHandle create(hid_t object, std::string const& name, hid_t type) {
    SpaceHandle const space(H5Screate(H5S_SCALAR), "a dataspace cannot be made");
    return {H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
            "the attribute '" + name + "' cannot be made"};
}

std::optional<AttributeHandle> open(hid_t object, std::string const& name) {
    if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
    AttributeHandle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), "the attribute '" + name + "' is unreadable");
    SpaceHandle const space(H5Aget_space(attribute.get()), "the attribute '" + name + "' is unreadable");
    if (H5Sget_simple_extent_npoints(space.get()) != 1) {
        base::fail_data({"the attribute '" + name + "' is unreadable", "it is not a single value"});
    }
    return attribute;
}

std::string read_variable(hid_t attribute, hid_t type, std::string const& name) {
    char* text = nullptr;
    check(H5Aread(attribute, type, &text), "the attribute '" + name + "' is unreadable");
    std::string value = text != nullptr ? text : "";
    H5free_memory(text);
    return value;
}

std::string read_fixed(hid_t attribute, hid_t type, std::string const& name) {
    std::string value(H5Tget_size(type), '\0');
    check(H5Aread(attribute, type, value.data()), "the attribute '" + name + "' is unreadable");
    return value.substr(0, value.find('\0'));
}

} // namespace

void write_text(hid_t object, std::string const& name, std::string const& value) {
    auto const type = text_type();
    auto const* text = value.c_str();
    check(H5Awrite(create(object, name, type.get()).get(), type.get(), &text),
          "the attribute '" + name + "' cannot be written");
}

void write_number(hid_t object, std::string const& name, std::uint64_t value) {
    check(H5Awrite(create(object, name, H5T_STD_U64LE).get(), H5T_NATIVE_UINT64, &value),
          "the attribute '" + name + "' cannot be written");
}

std::optional<std::string> read_text(hid_t object, std::string const& name) {
    auto const attribute = open(object, name);
    if (!attribute) return std::nullopt;
    TypeHandle const type(H5Aget_type(attribute->get()), "the attribute '" + name + "' is unreadable");
    if (H5Tget_class(type.get()) != H5T_STRING) {
        base::fail_data({"the attribute '" + name + "' is unreadable", "it is not a text"});
    }
    bool const variable = H5Tis_variable_str(type.get()) > 0;
    return variable ? read_variable(attribute->get(), type.get(), name)
                    : read_fixed(attribute->get(), type.get(), name);
}

std::optional<std::uint64_t> read_number(hid_t object, std::string const& name) {
    auto const attribute = open(object, name);
    if (!attribute) return std::nullopt;
    std::uint64_t value = 0;
    check(H5Aread(attribute->get(), H5T_NATIVE_UINT64, &value), "the attribute '" + name + "' is unreadable");
    return value;
}

} // namespace thalweg::format::hdf5
