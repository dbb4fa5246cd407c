// What a program found: JSON on stdout, and tables of an HDF5 file.
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

// What was computed: lattice, size, flux and so on.
nlohmann::json described(Options const& options);

// {"re": rows, "im": rows}.
nlohmann::json parts(Eigen::MatrixXcd const& matrix);

// Rank 0 alone prints and writes. `results` go beside the description; tables into --out, with the description as an
// attribute of the file.
void report(Options const& options, nlohmann::json const& results, std::vector<ResultTable> const& tables);

} // namespace quantum_hall
