#include "thalweg/dataset/node_folder/node_share.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/journal/journal.h"

namespace thalweg::dataset {
namespace {

// If its journal is gone, there may be another run in that place by now, which that does not concern.
void announce(NodeShare const& share, std::string const& name, std::string const& why) {
    try {
        if (share.journal && base::identity_of(share.parts.journal(share.which.node)) != share.journal) return;
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

bool NodeShare::announce_completion() const {
    try {
        return parts.announce(kCompleting, name_of_node(which.node));
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return false;
        throw;
    }
}

std::string NodeShare::failure() const { return parts.announced(kFailure).value_or(""); }

std::string NodeShare::own_death() const {
    return rules.goes_on ? parts.announced(dead_name(which.node)).value_or("") : "";
}

// A node that completes the file announces that first, then reads the journals, and then removes them, that of the
// first node in front of all names: so in this order.
std::string NodeShare::superseded() const {
    if (is_dead(which.node)) return "the others go on without this node: " + own_death();
    bool const is_completed = base::identity_of(parts.path() + "/" + kCompleting).has_value();
    bool const is_there = exists(parts.journal(0)) && base::identity_of(parts.journal(which.node)) == journal;
    return is_there && !is_completed ? "" : "the run was completed, or is being recovered, without this node";
}

std::string NodeShare::superseded_in_completion() const {
    bool const is_recovered = base::identity_of(parts.path() + "/" + kRecovering).has_value();
    bool const is_there = base::identity_of(parts.journal(which.node)) == journal;
    return is_there && !is_recovered ? "" : "the run was recovered, or is being recovered, without this node";
}

// The name alone says it: the node that made it may have died before its text was whole.
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
