#include "thalweg/dataset/run/node_share.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/process.h"

namespace thalweg::dataset {
namespace {

void announce(NodeShare const& share, std::string const& name, std::string const& why) {
    try {
        share.parts.announce(name, fmt::format("{} ({}): {}", name_of_node(share.which.node), base::host_name(), why));
    } catch (base::Error const&) {
        // The folder is gone, or its disk is full: the others notice that this node is silent.
    }
}

} // namespace

void NodeShare::announce_failure(std::string const& why) const { announce(*this, kFailure, why); }

void NodeShare::announce_end(std::string const& why) const {
    rules.goes_on ? announce(*this, dead_name(which.node), why) : announce_failure(why);
}

void NodeShare::announce_death(std::uint32_t node, std::string const& why) const {
    rules.goes_on ? announce(*this, dead_name(node), why) : announce_failure(why);
}

std::string NodeShare::failure() const { return parts.announced(kFailure).value_or(""); }

std::string NodeShare::own_death() const {
    return rules.goes_on ? parts.announced(dead_name(which.node)).value_or("") : "";
}

// The name alone says it: who made it may have died before its text was whole.
bool NodeShare::is_dead(std::uint32_t node) const {
    return rules.goes_on && base::identity_of(parts.path() + "/" + dead_name(node)).has_value();
}

std::uint32_t NodeShare::first_living() const {
    std::uint32_t node = 0;
    while (node < which.node && is_dead(node)) ++node;
    return node;
}

std::uint32_t NodeShare::next_living() const {
    auto node = (which.node + 1) % which.nodes;
    while (node != which.node && is_dead(node)) node = (node + 1) % which.nodes;
    return node;
}

} // namespace thalweg::dataset
