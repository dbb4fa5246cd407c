#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <vector>

#include "exact_values.h"
#include "thalweg/model/schema.h"

namespace thalweg::bind {

// Reads rows whose values are exactly of the declared types and need no conversion: numbers of Python that fit, arrays
// and scalars of NumPy with the declared dtype, strings, and, of one row, lists of Python, nested in dictionaries. It
// says nothing about any other value: the package converts it, or refuses it by name. Any threads may use it.
class ExactRows {
  public:
    explicit ExactRows(model::Table table);
    ExactRows(ExactRows const&) = delete;
    ExactRows& operator=(ExactRows const&) = delete;

    // Returns whether all values are exact; `to` has them then.
    bool read(nanobind::handle values, ExactValues& to) const;

  private:
    struct Part {
        nanobind::object name;
        model::Field const* field;
        std::size_t columns;
        bool grows;                // whether lists of Python may hold such values
        std::vector<Part> members; // of a list: its element
    };

    static Part part_of(model::Field const& field);
    static bool is_known(Part const& part);
    bool read_struct(std::vector<Part> const& parts, PyObject* values, ExactValues& to) const;
    bool read_value(Part const& part, PyObject* value, ExactValues& to) const;
    bool read_scalar(model::Field const& field, PyObject* value, ExactValues& to) const;
    bool read_optional(Part const& element, PyObject* value, ExactValues& to) const;
    bool read_list(Part const& element, PyObject* value, ExactValues& to) const;
    bool read_array(model::Field const& field, PyObject* value, bool is_list, ExactValues& to) const;

    model::Table table_;
    std::vector<Part> parts_;
    std::size_t columns_ = 0;
    bool is_known_ = true;         // false: the table has fields of other kinds
    nanobind::object array_type_;  // NumPy's ndarray
    nanobind::object scalar_type_; // NumPy's generic
};

} // namespace thalweg::bind
