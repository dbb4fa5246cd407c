#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/source/raw/raw.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace source::raw;

std::unique_ptr<source::Source> make_raw_source(std::string const& input, std::string const& shown, Row const& row,
                                                std::map<std::string, std::string> const& metadata) {
    return make_raw({.streams = {{.input = input, .shown = shown, .row = row}}, .metadata = metadata});
}

} // namespace

void bind_raw_source(nb::module_& module) {
    nb::enum_<RowField::Role>(module, "RowRole")
        .value("value", RowField::Role::value)
        .value("skip", RowField::Role::skip)
        .value("sync", RowField::Role::sync)
        .value("sequence", RowField::Role::sequence)
        .value("timestamp", RowField::Role::timestamp)
        .value("length", RowField::Role::length);
    nb::enum_<Row::LengthOf>(module, "LengthOf")
        .value("items", Row::LengthOf::items)
        .value("bytes", Row::LengthOf::bytes)
        .value("row", Row::LengthOf::whole_row);
    bind_settable<&BitField::name, &BitField::first, &BitField::count, &BitField::unit, &BitField::description>(
        module, "BitField");
    bind_settable<&RowField::name, &RowField::role, &RowField::packed_bits, &RowField::high_first,
                  &RowField::big_endian, &RowField::shape, &RowField::has_length, &RowField::sync_value,
                  &RowField::scale, &RowField::bits, &RowField::unit, &RowField::description>(module, "RowField")
        .def_prop_rw(
            "scalar", [](RowField const& field) { return model::name_of(field.scalar); },
            [](RowField& field, std::string_view name) { field.scalar = model::parse_scalar(name); });
    bind_settable<&Row::table, &Row::description, &Row::fields, &Row::length_of, &Row::max_row_bytes>(module, "Row");
    module.def("make_raw", make_raw_source, nb::arg("input"), nb::arg("shown"), nb::arg("row"), nb::arg("metadata"));
}

} // namespace thalweg::bind
