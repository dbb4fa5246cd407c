#include <nanobind/nanobind.h>

NB_MODULE(_core, module) {
    module.def(
        "version", [] { return THALWEG_VERSION; }, "The version that the C++ core was built as.");
}
