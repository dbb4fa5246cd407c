// Fields of files that Thalweg did not write, before it is known which of them are columns of one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/dataset.h"
#include "thalweg/model/schema.h"

namespace thalweg::format::hdf5::others {

struct FoundField {
    model::Field field; // without its members, which are below
    std::string path;
    std::uint64_t rows = 0;          // of a dataset or a list
    std::vector<Dataset> columns;    // a dataset's own; the running sums of a list
    std::vector<FoundField> members; // of a struct; the element of a list
};

// Returns the type that running sums of a stored type are read as: no length is negative. None if they cannot be read.
std::optional<model::Scalar> sum_type(model::Scalar stored);

// How many rows most of these have, members of structs counted, elements of lists not: of equally common numbers the
// largest. None if there are several and no two have the same.
std::optional<std::uint64_t> common_rows(std::vector<FoundField> const& fields);

// Takes out of `fields`, and of structs among them, what has another number of rows: each dataset and list, and each
// struct that is of no such rows at all, goes to `apart`.
void split_off(std::vector<FoundField>& fields, std::uint64_t rows, std::vector<FoundField>& apart);

// Fields with their members; appends the datasets of all their columns to `columns`, in the order of model::flatten.
std::vector<model::Field> fields_of(std::vector<FoundField>&& found, std::vector<Dataset>& columns);

} // namespace thalweg::format::hdf5::others
