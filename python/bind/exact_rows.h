#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <span>
#include <string>
#include <vector>

#include "buffer.h"
#include "thalweg/model/schema.h"

namespace thalweg::bind {

// Reads rows whose values are exactly of the declared types and need no conversion: numbers of Python that fit, arrays
// and scalars of NumPy with the declared dtype, and strings, nested in dictionaries. It says nothing about any other
// value: the package converts it, or refuses it by name.
class ExactRows {
  public:
    explicit ExactRows(model::Table const& table);
    ExactRows(ExactRows const&) = delete;
    ExactRows& operator=(ExactRows const&) = delete;

    // Returns whether all values are exact. If so, `rows` and `columns` have them until the next call of `clear`.
    bool read(nanobind::handle values);
    std::uint64_t rows() const { return rows_ == kOneRow ? 1 : rows_; }
    std::span<std::span<std::byte const> const> columns() const { return columns_; }
    void clear();

  private:
    // One row without a leading axis, which does not go together with an array of one row.
    static constexpr std::uint64_t kOneRow = ~std::uint64_t{0};

    struct Part {
        nanobind::object name;
        model::Field const* field;
        std::vector<Part> members;
    };

    bool add_part(model::Field const& field, std::vector<Part>& parts);
    bool read_struct(std::vector<Part> const& parts, PyObject* values);
    bool read_value(Part const& part, PyObject* value);
    bool read_scalar(model::Field const& field, PyObject* value);
    bool read_optional(model::Field const& element, PyObject* value);
    bool read_number(model::Scalar scalar, PyObject* value);
    bool read_string(PyObject* value);
    bool read_array(model::Field const& field, PyObject* value, bool is_list);
    bool has_rows(std::uint64_t rows);
    template <class T> bool add_number(T number);

    std::vector<Part> parts_;
    bool is_known_ = true;               // false: the table has fields of other kinds
    nanobind::object array_type_;        // NumPy's ndarray
    nanobind::object scalar_type_;       // NumPy's generic
    std::vector<std::uint64_t> numbers_; // of one row; spans point into it, so it never grows beyond its capacity
    std::vector<Buffer> buffers_;
    std::vector<std::span<std::byte const>> columns_;
    std::uint64_t rows_ = 0;
    bool has_rows_ = false; // whether a value has said how many rows there are
};

} // namespace thalweg::bind
