// The memory of runs that `thalweg clean` lists and removes.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/base/memory.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;

std::string_view name_of(MemoryState state) {
    switch (state) {
    case MemoryState::held:
        return "held";
    case MemoryState::recoverable:
        return "recoverable";
    case MemoryState::left_over:
        return "left over";
    case MemoryState::foreign:
        return "foreign";
    }
    return "";
}

std::vector<std::string> paths_of(MemoryOfRun const& memory) {
    std::vector<std::string> paths;
    for (auto const& name : memory.files) paths.push_back(base::SharedMemory::path_of(name));
    return paths;
}

} // namespace

void bind_memory(nb::module_& module) {
    bind_struct<&MemoryOfRun::ledger, &MemoryOfRun::run_id, &MemoryOfRun::data_path, &MemoryOfRun::size_bytes,
                &MemoryOfRun::age_ns, &MemoryOfRun::why>(module, "MemoryOfRun")
        .def_prop_ro("paths", paths_of)
        .def_prop_ro("state", [](MemoryOfRun const& memory) { return name_of(memory.state); });
    module.def("list_memory", list_memory, nb::arg("folders"));
    module.def("remove_left_over", remove_left_over, nb::arg("memory"));
    module.attr("MEMORY_FOLDER_VARIABLE") = kMemoryFolderVariable;
}

} // namespace thalweg::bind
