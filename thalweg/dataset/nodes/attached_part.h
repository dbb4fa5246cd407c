// A process that writes one node's part of a run without having begun it there. If the process that has begun it dies,
// and the other nodes go on without this node, the last process that leaves the part adds to its journal what all of
// them had appended, and tells the others that the node is dead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/dataset/run/attach.h"

namespace thalweg::dataset {

// The same as `attach` (attach.h), for runs of one node and of several.
std::shared_ptr<OpenRun> attach_to_part(std::string const& handle, std::optional<unsigned> seal_threads = {},
                                        std::function<void()> while_waiting = {});

} // namespace thalweg::dataset
