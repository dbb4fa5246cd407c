#include "thalweg/format/hdf5/types.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Scalar;

// The little-endian number that a value consists of: of a bool its one byte, of a complex number a part.
hid_t number_type(Scalar scalar) {
    switch (scalar) {
    case Scalar::boolean:
    case Scalar::int8:
        return H5T_STD_I8LE;
    case Scalar::int16:
        return H5T_STD_I16LE;
    case Scalar::int32:
        return H5T_STD_I32LE;
    case Scalar::int64:
        return H5T_STD_I64LE;
    case Scalar::uint8:
        return H5T_STD_U8LE;
    case Scalar::uint16:
        return H5T_STD_U16LE;
    case Scalar::uint32:
        return H5T_STD_U32LE;
    case Scalar::uint64:
        return H5T_STD_U64LE;
    case Scalar::float32:
    case Scalar::complex64:
        return H5T_IEEE_F32LE;
    case Scalar::float64:
    case Scalar::complex128:
        return H5T_IEEE_F64LE;
    }
    base::fail_usage({fmt::format("HDF5 has no type for {}", name_of(scalar))});
}

TypeHandle bool_type(hid_t base) {
    TypeHandle type(H5Tenum_create(base), "the type of bool cannot be made");
    signed char value = 0;
    for (auto const* name : {"FALSE", "TRUE"}) {
        check(H5Tenum_insert(type.get(), name, &value), "the type of bool cannot be made");
        ++value;
    }
    return type;
}

TypeHandle complex_type(hid_t part) {
    auto const size_bytes = H5Tget_size(part);
    TypeHandle type(H5Tcreate(H5T_COMPOUND, 2 * size_bytes), "the type of complex numbers cannot be made");
    check(H5Tinsert(type.get(), "r", 0, part), "the type of complex numbers cannot be made");
    check(H5Tinsert(type.get(), "i", size_bytes, part), "the type of complex numbers cannot be made");
    return type;
}

TypeHandle make_type(Scalar scalar, H5T_order_t order) {
    TypeHandle number(H5Tcopy(number_type(scalar)), "a type cannot be copied");
    check(H5Tset_order(number.get(), order), "a type has no order of bytes");
    if (scalar == Scalar::boolean) return bool_type(number.get());
    if (model::is_complex(scalar)) return complex_type(number.get());
    return number;
}

// The elements may be arrays, too.
std::optional<StoredType> array_type(hid_t type) {
    TypeHandle const element(H5Tget_super(type), "the type of an array's elements cannot be read");
    auto stored = stored_type(element.get());
    auto const rank = H5Tget_array_ndims(type);
    if (!stored || rank <= 0) return std::nullopt;
    std::vector<hsize_t> shape(static_cast<std::size_t>(rank));
    check(H5Tget_array_dims2(type, shape.data()), "the shape of an array cannot be read");
    stored->shape.insert(stored->shape.begin(), shape.begin(), shape.end());
    return stored;
}

} // namespace

TypeHandle make_type(Scalar scalar) { return make_type(scalar, H5T_ORDER_LE); }

std::optional<StoredType> stored_type(hid_t type) {
    if (H5Tget_class(type) == H5T_ARRAY) return array_type(type);
    for (auto const scalar : model::kScalars) {
        if (H5Tequal(type, make_type(scalar).get()) > 0) return StoredType{scalar, false, {}};
        if (H5Tequal(type, make_type(scalar, H5T_ORDER_BE).get()) > 0) return StoredType{scalar, true, {}};
    }
    return std::nullopt;
}

TypeHandle text_type() {
    TypeHandle type(H5Tcopy(H5T_C_S1), "the type of text cannot be made");
    check(H5Tset_size(type.get(), H5T_VARIABLE), "the type of text cannot be made");
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "the type of text cannot be made");
    return type;
}

std::string lh5_array(std::size_t item_rank, std::string const& element) {
    if (item_rank == 1) return "array_of_equalsized_arrays<1,1>{" + element + "}";
    return fmt::format("array<{}>{{{}}}", item_rank + 1, element);
}

std::string lh5_scalar(Scalar scalar) {
    if (scalar == Scalar::boolean) return "bool";
    return model::is_complex(scalar) ? "complex" : "real";
}

} // namespace thalweg::format::hdf5
