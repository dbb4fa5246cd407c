#include "thalweg/dataset/run/node_share.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"

namespace thalweg::dataset {

void NodeShare::announce_failure(std::string const& why) const {
    try {
        parts.announce(kFailure, fmt::format("{} ({}): {}", name_of_node(which.node), base::host_name(), why));
    } catch (base::Error const&) {
        // The folder is gone, or its disk is full: the others notice that this node is silent.
    }
}

std::string NodeShare::failure() const { return parts.announced(kFailure).value_or(""); }

} // namespace thalweg::dataset
