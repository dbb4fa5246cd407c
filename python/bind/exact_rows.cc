#include "exact_rows.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace thalweg::bind {

namespace nb = nanobind;
using model::Field;
using model::Kind;
using model::Scalar;

namespace {

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

template <class T> bool is_real(PyObject* value, T& number) {
    if (PyFloat_CheckExact(value)) {
        auto const wide = PyFloat_AS_DOUBLE(value);
        number = static_cast<T>(wide);
        return std::isfinite(number) || !std::isfinite(wide);
    }
    std::int64_t integer = 0;
    if (!is_integer(value, integer)) return false;
    number = static_cast<T>(integer);
    return true;
}

std::size_t column_count(Field const& field) {
    std::size_t count = field.kind == Kind::record ? 0 : field.kind == Kind::string ? 2 : 1;
    for (auto const& member : field.members) count += column_count(member);
    return count;
}

bool is_optional(Field const& field) { return field.type_name.starts_with("std::optional<"); }

} // namespace

ExactRows::ExactRows(model::Table const& table)
    : array_type_(nb::module_::import_("numpy").attr("ndarray")),
      scalar_type_(nb::module_::import_("numpy").attr("generic")) {
    std::size_t columns = 0;
    for (auto const& field : table.fields) {
        is_known_ = is_known_ && add_part(field, parts_);
        columns += column_count(field);
    }
    numbers_.reserve(columns);
    columns_.reserve(columns);
    buffers_.reserve(columns);
}

bool ExactRows::add_part(Field const& field, std::vector<Part>& parts) {
    auto* const name = PyUnicode_InternFromString(field.name.c_str());
    if (name == nullptr) throw nb::python_error();
    auto& part = parts.emplace_back(nb::steal(name), &field, std::vector<Part>());
    switch (field.kind) {
    case Kind::scalar:
        return !model::is_complex(field.scalar);
    case Kind::string:
        return field.shape.empty();
    case Kind::list: {
        auto const& element = field.members.front();
        if (!field.shape.empty()) return false;
        if (is_optional(field) && element.kind == Kind::string) return element.shape.empty();
        return element.kind == Kind::scalar && !model::is_complex(element.scalar);
    }
    case Kind::record:
        if (!field.shape.empty()) return false;
        for (auto const& member : field.members)
            if (!add_part(member, part.members)) return false;
        return true;
    }
    return false;
}

bool ExactRows::read(nb::handle values) {
    clear();
    return is_known_ && read_struct(parts_, values.ptr()) && has_rows_;
}

void ExactRows::clear() {
    numbers_.clear();
    buffers_.clear();
    columns_.clear();
    has_rows_ = false;
}

bool ExactRows::read_struct(std::vector<Part> const& parts, PyObject* values) {
    if (!PyDict_CheckExact(values) || static_cast<std::size_t>(PyDict_GET_SIZE(values)) != parts.size()) return false;
    for (auto const& part : parts) {
        auto* const value = PyDict_GetItemWithError(values, part.name.ptr());
        if (value == nullptr) {
            PyErr_Clear();
            return false;
        }
        if (!read_value(part, value)) return false;
    }
    return true;
}

bool ExactRows::read_value(Part const& part, PyObject* value) {
    auto const& field = *part.field;
    switch (field.kind) {
    case Kind::record:
        return read_struct(part.members, value);
    case Kind::string:
        return read_string(value);
    case Kind::list:
        if (is_optional(field)) return read_optional(field.members.front(), value);
        return read_array(field.members.front(), value, true);
    case Kind::scalar:
        return read_scalar(field, value);
    }
    return false;
}

bool ExactRows::read_scalar(Field const& field, PyObject* value) {
    return (field.shape.empty() && read_number(field.scalar, value)) || read_array(field, value, false);
}

// A list of one value or none.
bool ExactRows::read_optional(Field const& element, PyObject* value) {
    auto const is_there = value != Py_None;
    if (!add_number(static_cast<std::uint64_t>(is_there))) return false;
    if (is_there) return element.kind == Kind::string ? read_string(value) : read_scalar(element, value);
    columns_.insert(columns_.end(), column_count(element), columns_.back().first(0));
    return true;
}

bool ExactRows::has_rows(std::uint64_t rows) {
    if (has_rows_) return rows_ == rows;
    rows_ = rows;
    has_rows_ = true;
    return true;
}

// A number of one row, or a length.
template <class T> bool ExactRows::add_number(T number) {
    if (!has_rows(kOneRow)) return false;
    auto& place = numbers_.emplace_back(0);
    std::memcpy(&place, &number, sizeof number);
    columns_.push_back(std::as_bytes(std::span(&place, 1)).first(sizeof number));
    return true;
}

bool ExactRows::read_number(Scalar scalar, PyObject* value) {
    auto const integer = [&]<class T>(T number) { return is_integer(value, number) && add_number(number); };
    auto const real = [&]<class T>(T number) { return is_real(value, number) && add_number(number); };
    switch (scalar) {
    case Scalar::boolean:
        return PyBool_Check(value) && add_number(static_cast<std::uint8_t>(value == Py_True));
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

bool ExactRows::read_string(PyObject* value) {
    if (!PyUnicode_CheckExact(value)) return false;
    Py_ssize_t size = 0;
    auto const* const text = PyUnicode_AsUTF8AndSize(value, &size); // the string keeps the bytes
    if (text == nullptr) {
        PyErr_Clear();
        return false;
    }
    if (!add_number(static_cast<std::uint64_t>(size))) return false;
    columns_.push_back(std::as_bytes(std::span(text, static_cast<std::size_t>(size))));
    return true;
}

bool ExactRows::read_array(Field const& field, PyObject* value, bool is_list) {
    auto const is_array = Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(array_type_.ptr());
    if (!is_array && PyObject_IsInstance(value, scalar_type_.ptr()) != 1) return false;
    try {
        buffers_.emplace_back(value, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    } catch (nb::python_error&) { // it is not contiguous, or has times
        return false;
    }
    auto const& view = buffers_.back().view();
    if (!is_array && view.ndim != 0) return false; // NumPy shows a single time as eight bytes
    auto const more_axes = view.ndim - static_cast<int>(field.shape.size());
    if (more_axes < 0 || more_axes > 1 || !is_format_of(field.scalar, view)) return false;
    if (!has_shape(view, more_axes, field.shape)) return false;
    auto const items = more_axes == 1 ? static_cast<std::uint64_t>(view.shape[0]) : 1;
    if (is_list && (more_axes != 1 || !add_number(items))) return false;
    if (!is_list && !has_rows(more_axes == 1 ? items : kOneRow)) return false;
    columns_.push_back(buffers_.back().bytes());
    return true;
}

} // namespace thalweg::bind
