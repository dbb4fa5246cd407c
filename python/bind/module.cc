#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_core, module) { module.attr("__version__") = THALWEG_VERSION; }
