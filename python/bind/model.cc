#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "thalweg/base/error.h"
#include "thalweg/model/run.h"

namespace thalweg::bind {

namespace nb = nanobind;
using model::Column;

void bind_model(nb::module_& module) {
    nb::class_<Column>(module, "Column")
        .def_ro("path", &Column::path)
        .def_prop_ro("is_lengths", [](Column const& column) { return column.role == Column::Role::lengths; })
        .def_prop_ro("type", [](Column const& column) { return model::name_of(column.scalar); })
        .def_ro("shape", &Column::shape)
        .def_ro("parent", &Column::parent, nb::sig("def parent(self) -> int | None"));

    nb::enum_<model::LeftOut::Reason>(module, "LeftOutReason")
        .value("other", model::LeftOut::Reason::other)
        .value("tree", model::LeftOut::Reason::tree)
        .value("group_name", model::LeftOut::Reason::group_name);
    nb::class_<model::LeftOut>(module, "LeftOut")
        .def_ro("path", &model::LeftOut::path)
        .def_ro("why", &model::LeftOut::why)
        .def_ro("reason", &model::LeftOut::reason);

    module.def(
        "flatten",
        [](std::string const& json) {
            std::vector<std::vector<Column>> columns;
            for (auto const& table : model::schema_from_json(json).tables) columns.push_back(model::flatten(table));
            return columns;
        },
        nb::arg("json"), "The columns of each table of a schema.");
    module.def(
        "check_schema",
        [](std::string const& json) {
            try {
                static_cast<void>(model::schema_from_json(json));
            } catch (base::DataError const& error) { // a user wrote the text, so no file is damaged
                throw base::UsageError(error.what());
            }
        },
        nb::arg("json"), "Raises UsageError where the text is not the JSON form of a schema.");
}

} // namespace thalweg::bind
