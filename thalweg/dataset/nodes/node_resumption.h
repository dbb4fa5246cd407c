// A run that several nodes write goes on, with as many (begin/resumption.h says how the file does). The first node
// gathers all journals and writes into each of them what is left; the others return with theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "thalweg/dataset/begin/begun_run.h"
#include "thalweg/dataset/begin/options.h"

namespace thalweg::dataset {

// Both return when all nodes are there again.
BegunRun resume_as_first(std::string const& path, std::optional<model::Schema> const& schema,
                         CreateOptions const& options);
BegunRun return_to_run(std::string const& path, std::uint32_t node, JoinOptions const& options);

} // namespace thalweg::dataset
