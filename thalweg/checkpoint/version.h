// The versions of what saves write: of a record, and of a list.
#pragma once

#include <string>

#include "thalweg/base/error.h"

namespace thalweg::checkpoint {

// What was written is whole, and this Thalweg does not know its version. It is not damaged, so that no save takes its
// place for that.
class UnknownVersion : public base::DataError {
  public:
    using DataError::DataError;
};

// Throws UnknownVersion if a version is not the one that this Thalweg reads. `problem` says what cannot be done then.
void check_version(std::string const& problem, int version, int known);

} // namespace thalweg::checkpoint
