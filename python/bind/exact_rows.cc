#include "exact_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace thalweg::bind {

namespace nb = nanobind;
using model::Field;
using model::Kind;
using model::Scalar;

namespace {

// The stable ABI, for which wheels from Python 3.12 on are compiled, has the function alone.
double as_double(PyObject* number) {
#ifdef Py_LIMITED_API
    return PyFloat_AsDouble(number);
#else
    return PyFloat_AS_DOUBLE(number);
#endif
}

// The letters of Python's buffer protocol. NumPy gives one letter alone for native numbers.
bool is_format_of(Scalar scalar, Py_buffer const& view) {
    if (view.format == nullptr || view.format[0] == '\0' || view.format[1] != '\0') return false;
    if (static_cast<std::size_t>(view.itemsize) != model::size_bytes(scalar)) return false;
    switch (scalar) {
    case Scalar::boolean:
        return view.format[0] == '?';
    case Scalar::int8:
    case Scalar::int16:
    case Scalar::int32:
    case Scalar::int64:
        return std::strchr("bhilq", view.format[0]) != nullptr;
    case Scalar::uint8:
    case Scalar::uint16:
    case Scalar::uint32:
    case Scalar::uint64:
        return std::strchr("BHILQ", view.format[0]) != nullptr;
    case Scalar::float32:
    case Scalar::float64:
        return std::strchr("fd", view.format[0]) != nullptr;
    case Scalar::complex64:
    case Scalar::complex128:
        return false;
    }
    return false;
}

bool has_shape(Py_buffer const& view, int first_axis, std::vector<std::uint64_t> const& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (static_cast<std::uint64_t>(view.shape[first_axis + static_cast<int>(axis)]) != shape[axis]) return false;
    return true;
}

// Numbers of Python: only the value must fit. A bool is no integer here.
template <class T> bool is_integer(PyObject* value, T& number) {
    if (!PyLong_CheckExact(value)) return false;
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
        number = PyLong_AsUnsignedLongLong(value);
        if (number != std::numeric_limits<T>::max() || PyErr_Occurred() == nullptr) return true;
        PyErr_Clear();
        return false;
    } else {
        int overflow = 0;
        auto const wide = PyLong_AsLongLongAndOverflow(value, &overflow);
        number = static_cast<T>(wide);
        return overflow == 0 && static_cast<long long>(number) == wide;
    }
}

// An integer is a real number if it keeps its value.
template <class T> bool is_real(PyObject* value, T& number) {
    if (PyFloat_CheckExact(value)) {
        auto const wide = as_double(value);
        number = static_cast<T>(wide);
        return std::isfinite(number) || !std::isfinite(wide);
    }
    constexpr std::int64_t kExact = std::int64_t{1} << std::numeric_limits<T>::digits;
    std::int64_t integer = 0;
    if (!is_integer(value, integer) || integer > kExact || integer < -kExact) return false;
    number = static_cast<T>(integer);
    return true;
}

// Calls `put` with the number that the value is, and returns what it returns. Returns false if it is none.
template <class Put> bool put_number(Scalar scalar, PyObject* value, Put const& put) {
    auto const integer = [&]<class T>(T number) { return is_integer(value, number) && put(number); };
    auto const real = [&]<class T>(T number) { return is_real(value, number) && put(number); };
    switch (scalar) {
    case Scalar::boolean:
        return PyBool_Check(value) && put(static_cast<std::uint8_t>(value == Py_True));
    case Scalar::int8:
        return integer(std::int8_t());
    case Scalar::int16:
        return integer(std::int16_t());
    case Scalar::int32:
        return integer(std::int32_t());
    case Scalar::int64:
        return integer(std::int64_t());
    case Scalar::uint8:
        return integer(std::uint8_t());
    case Scalar::uint16:
        return integer(std::uint16_t());
    case Scalar::uint32:
        return integer(std::uint32_t());
    case Scalar::uint64:
        return integer(std::uint64_t());
    case Scalar::float32:
        return real(float());
    case Scalar::float64:
        return real(double());
    case Scalar::complex64:
    case Scalar::complex128:
        return false;
    }
    return false;
}

// Returns the UTF-8 of a string, whose bytes it keeps.
std::optional<std::span<std::byte const>> text_of(PyObject* value) {
    if (!PyUnicode_CheckExact(value)) return std::nullopt;
    Py_ssize_t size = 0;
    if (auto const* const text = PyUnicode_AsUTF8AndSize(value, &size))
        return std::as_bytes(std::span(text, static_cast<std::size_t>(size)));
    PyErr_Clear();
    return std::nullopt;
}

bool read_string(PyObject* value, ExactValues& to) {
    auto const text = text_of(value);
    if (!text || !to.add_number(static_cast<std::uint64_t>(text->size()))) return false;
    to.hold(value);
    to.add_bytes(*text);
    return true;
}

bool is_optional(Field const& field) { return field.type_name.starts_with("std::optional<"); }

template <class T> void grow(std::vector<std::byte>& column, T const& number) {
    auto const bytes = std::as_bytes(std::span(&number, 1));
    column.insert(column.end(), bytes.begin(), bytes.end());
}

bool has_keys(PyObject* values, std::size_t count) {
    return PyDict_CheckExact(values) && static_cast<std::size_t>(NB_DICT_GET_SIZE(values)) == count;
}

PyObject* value_of(PyObject* values, nb::object const& name) {
    auto* const value = PyDict_GetItemWithError(values, name.ptr());
    if (value == nullptr) PyErr_Clear();
    return value;
}

// Adds an item to the columns of the elements of a list, from `column` on.
template <class Part> bool grow_by(Part const& part, PyObject* value, std::size_t column, ExactValues& to) {
    auto const& field = *part.field;
    switch (field.kind) {
    case Kind::scalar:
        return put_number(field.scalar, value, [&](auto number) {
            grow(to.growing(column), number);
            return true;
        });
    case Kind::string: {
        auto const text = text_of(value);
        if (!text) return false;
        grow(to.growing(column), static_cast<std::uint64_t>(text->size()));
        auto& bytes = to.growing(column + 1);
        bytes.insert(bytes.end(), text->begin(), text->end());
        return true;
    }
    case Kind::list: {
        auto const& element = part.members.front();
        if (is_optional(field)) {
            auto const is_there = value != Py_None;
            grow(to.growing(column), static_cast<std::uint64_t>(is_there));
            return !is_there || grow_by(element, value, column + 1, to);
        }
        if (!PyList_CheckExact(value)) return false;
        auto const count = NB_LIST_GET_SIZE(value);
        grow(to.growing(column), static_cast<std::uint64_t>(count));
        for (Py_ssize_t i = 0; i < count; ++i)
            if (!grow_by(element, NB_LIST_GET_ITEM(value, i), column + 1, to)) return false;
        return true;
    }
    case Kind::record:
        if (!has_keys(value, part.members.size())) return false;
        for (auto const& member : part.members) {
            auto* const inner = value_of(value, member.name);
            if (inner == nullptr || !grow_by(member, inner, column, to)) return false;
            column += member.columns;
        }
        return true;
    }
    return false;
}

} // namespace

ExactRows::ExactRows(model::Table table)
    : table_(std::move(table)), array_type_(nb::module_::import_("numpy").attr("ndarray")),
      scalar_type_(nb::module_::import_("numpy").attr("generic")) {
    for (auto const& field : table_.fields) {
        parts_.push_back(part_of(field));
        is_known_ = is_known_ && is_known(parts_.back());
        columns_ += parts_.back().columns;
    }
}

ExactRows::Part ExactRows::part_of(Field const& field) {
    auto* const name = PyUnicode_InternFromString(field.name.c_str());
    if (name == nullptr) throw nb::python_error();
    Part part{nb::steal(name), &field, 0, field.shape.empty(), {}};
    if (field.kind == Kind::scalar && model::is_complex(field.scalar)) part.grows = false;
    part.columns = field.kind == Kind::record ? 0 : field.kind == Kind::string ? 2 : 1;
    for (auto const& member : field.members) {
        part.members.push_back(part_of(member));
        part.columns += part.members.back().columns;
        part.grows = part.grows && part.members.back().grows;
    }
    return part;
}

// Whether some of its values may be exact.
bool ExactRows::is_known(Part const& part) {
    auto const& field = *part.field;
    switch (field.kind) {
    case Kind::scalar:
        return !model::is_complex(field.scalar);
    case Kind::string:
        return field.shape.empty();
    case Kind::list: {
        auto const& element = field.members.front();
        return field.shape.empty() &&
               (part.grows || (element.kind == Kind::scalar && !model::is_complex(element.scalar)));
    }
    case Kind::record:
        return field.shape.empty() && std::ranges::all_of(part.members, is_known);
    }
    return false;
}

bool ExactRows::read(nb::handle values, ExactValues& to) const {
    if (!is_known_) return false;
    to.expect(columns_);
    return read_struct(parts_, values.ptr(), to) && to.is_counted();
}

bool ExactRows::read_struct(std::vector<Part> const& parts, PyObject* values, ExactValues& to) const {
    if (!has_keys(values, parts.size())) return false;
    return std::ranges::all_of(parts, [&](auto const& part) {
        auto* const value = value_of(values, part.name);
        return value != nullptr && read_value(part, value, to);
    });
}

bool ExactRows::read_value(Part const& part, PyObject* value, ExactValues& to) const {
    auto const& field = *part.field;
    switch (field.kind) {
    case Kind::record:
        return read_struct(part.members, value, to);
    case Kind::string:
        return read_string(value, to);
    case Kind::list:
        if (is_optional(field)) return read_optional(part.members.front(), value, to);
        if (PyList_CheckExact(value)) return part.grows && read_list(part.members.front(), value, to);
        return field.members.front().kind == Kind::scalar && read_array(field.members.front(), value, true, to);
    case Kind::scalar:
        return read_scalar(field, value, to);
    }
    return false;
}

bool ExactRows::read_scalar(Field const& field, PyObject* value, ExactValues& to) const {
    auto const put = [&](auto number) { return to.add_number(number); };
    return (field.shape.empty() && put_number(field.scalar, value, put)) || read_array(field, value, false, to);
}

// A list of one value or none.
bool ExactRows::read_optional(Part const& element, PyObject* value, ExactValues& to) const {
    auto const is_there = value != Py_None;
    if (!to.add_number(static_cast<std::uint64_t>(is_there))) return false;
    if (!is_there) {
        to.add_empty(element.columns);
        return true;
    }
    switch (element.field->kind) {
    case Kind::scalar:
        return read_scalar(*element.field, value, to);
    case Kind::string:
        return read_string(value, to);
    case Kind::list:
    case Kind::record:
        break;
    }
    return false;
}

bool ExactRows::read_list(Part const& element, PyObject* value, ExactValues& to) const {
    auto const count = NB_LIST_GET_SIZE(value);
    if (!to.add_number(static_cast<std::uint64_t>(count))) return false;
    auto const first = to.begin_growing(element.columns);
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!grow_by(element, NB_LIST_GET_ITEM(value, i), first, to)) return false;
    to.add_grown(first, element.columns);
    return true;
}

bool ExactRows::read_array(Field const& field, PyObject* value, bool is_list, ExactValues& to) const {
    auto const is_array = Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(array_type_.ptr());
    if (!is_array && PyObject_IsInstance(value, scalar_type_.ptr()) != 1) return false;
    Buffer* buffer = nullptr;
    try {
        buffer = &to.add_buffer(value, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    } catch (nb::python_error&) { // it is not contiguous, or has times
        return false;
    }
    auto const& view = buffer->view();
    if (!is_array && view.ndim != 0) return false; // NumPy shows a single time as eight bytes
    auto const more_axes = view.ndim - static_cast<int>(field.shape.size());
    if (more_axes < 0 || more_axes > 1 || !is_format_of(field.scalar, view)) return false;
    if (!has_shape(view, more_axes, field.shape)) return false;
    auto const items = more_axes == 1 ? static_cast<std::uint64_t>(view.shape[0]) : 1;
    if (is_list && (more_axes != 1 || !to.add_number(items))) return false;
    if (!is_list && !(more_axes == 1 ? to.has_rows(items) : to.has_one_row())) return false;
    to.add_bytes(buffer->bytes());
    return true;
}

} // namespace thalweg::bind
