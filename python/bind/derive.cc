#include "thalweg/derive/kept_columns.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "buffer.h"
#include "open_unit.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace derive;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

using format::rntuple::StoredClusters;
using SharedClusters = std::shared_ptr<StoredClusters>;

// nanobind binds no const pointers.
SharedClusters find_clusters(dataset::Reader const& input, std::size_t table) {
    return std::const_pointer_cast<StoredClusters>(stored_clusters(input, table));
}

std::unique_ptr<KeptColumns> find_kept(dataset::Reader const& input, std::size_t input_table,
                                       SharedClusters const& stored, std::shared_ptr<dataset::OpenRun> const& out,
                                       std::string const& table, std::vector<std::string> const& kept, CopyPages copy) {
    return KeptColumns::find(input, input_table, stored, out->head, table, kept, copy);
}

void append_kept(OpenUnit& open, std::string const& table, KeptColumns& kept, std::uint64_t first, std::uint64_t count,
                 nb::object const& mask, nb::typed<nb::sequence, nb::object> const& computed) {
    Buffers const buffers(computed);
    std::optional<Buffer> chosen;
    if (!mask.is_none()) chosen.emplace(mask);
    nb::gil_scoped_release const released;
    kept.append({first, count}, chosen ? chosen->bytes() : std::span<std::byte>(), buffers.bytes(), open.unit[table]);
}

} // namespace

void bind_derive(nb::module_& module) {
    nb::enum_<CopyPages>(module, "CopyPages")
        .value("never", CopyPages::never)
        .value("where_worth", CopyPages::where_worth)
        .value("always", CopyPages::always);
    nb::class_<KeptColumns>(module, "KeptColumns").def_prop_ro("copied", [](KeptColumns const& kept) {
        return std::pair(kept.copied().pages, kept.copied().bytes);
    });
    nb::class_<StoredClusters>(module, "StoredClusters")
        .def_prop_ro("ends", cluster_ends)
        .def("codec_of", codec_of_input, nb::arg("fields"), WithoutGil());
    module.def("stored_clusters", find_clusters, nb::arg("input"), nb::arg("table"), WithoutGil(),
               nb::sig("def stored_clusters(input: Reader, table: int) -> StoredClusters | None"));
    module.def("kept_columns", find_kept, nb::arg("input"), nb::arg("input_table"), nb::arg("stored").none(),
               nb::arg("out"), nb::arg("table"), nb::arg("kept"), nb::arg("copy"), nb::keep_alive<0, 1>(), WithoutGil(),
               nb::sig("def kept_columns(input: Reader, input_table: int, stored: StoredClusters | None, out: OpenRun, "
                       "table: str, kept: collections.abc.Sequence[str], copy: CopyPages) -> KeptColumns | None"));
    module.def("append_kept", append_kept, nb::arg("unit"), nb::arg("table"), nb::arg("kept"), nb::arg("first"),
               nb::arg("count"), nb::arg("mask").none(), nb::arg("computed"));
}

} // namespace thalweg::bind
