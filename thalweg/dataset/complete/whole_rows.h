// Finds the rows of one producer that are whole: every item that belongs to them is in some page, at any depth of
// lists.
#pragma once

#include <optional>
#include <string>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/coverage.h"
#include "thalweg/model/column.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Returns true if the medium has lost these bytes for good: trying again does not help.
bool is_bad_medium(base::SystemError const& error);

struct WholeRows {
    std::vector<model::Column> const& columns;
    model::TableLayout const& layout;
    model::Part const& part;
    storage::Storage const& file;
    storage::Storage const& journal;
    std::string const& table;
    std::vector<std::string>& notes;   // what could not be read
    std::vector<std::uint64_t> starts; // by column, the item that `part` begins with

    Ranges find() const;

  private:
    Ranges inside(std::optional<std::size_t> parent) const;
    Ranges of_column(std::size_t index) const;
    std::uint64_t first_element(std::size_t lengths) const;
};

} // namespace thalweg::dataset
