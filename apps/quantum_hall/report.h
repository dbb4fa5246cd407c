// Reports the results of a program: JSON on stdout, and tables in an HDF5 file.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "options.h"

namespace quantum_hall {

struct ResultColumn {
    std::string name;
    std::vector<double> values;
};

struct ResultTable {
    std::string name;
    std::vector<ResultColumn> columns; // empty ones are left out
};

// Returns what was computed: lattice, size, flux and so on.
nlohmann::json described(Options const& options);

// Returns {"re": rows, "im": rows}.
nlohmann::json parts(Eigen::MatrixXcd const& matrix);

// Only rank 0 prints and writes. `results` are printed beside the description; tables go into --out, with the
// description as an attribute of the file.
void report(Options const& options, nlohmann::json const& results, std::vector<ResultTable> const& tables);

} // namespace quantum_hall
