#include "thalweg/dataset/node_folder/node_share.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/node_folder/folder_pause.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kUntilTextNs = 1'000'000'000; // that follows a name

// The list has the name of its journal, and this machine finds that journal there.
bool has_own_journal(NodeShare const& share, PartsFolder::Names const& names) {
    auto const node = share.which.node;
    return names.contains(PartsFolder::journal_name(node)) &&
           base::identity_of(share.parts.journal(node)) == share.journal;
}

// If its journal is gone, there may be another run in that place by now, which that does not concern.
void tell(NodeShare const& share, std::string const& name, std::string const& why) {
    try {
        if (share.journal && !has_own_journal(share, share.parts.names())) return;
        share.announce(name, fmt::format("{} ({}): {}", name_of_node(share.which.node), base::host_name(), why));
    } catch (base::Error const&) {
        // The folder is gone, or its disk is full: the others notice that this node is silent.
    }
}

} // namespace

bool NodeShare::announce(std::string const& name, std::string const& text) const {
    return parts.announce(name, text, [&] { return parts.give_up_spare(which.node); });
}

void NodeShare::announce_failure(std::string const& why) const { tell(*this, kFailure, why); }

void NodeShare::announce_end(std::string const& why) const {
    rules.goes_on ? tell(*this, dead_name(which.node), why) : announce_failure(why);
}

void NodeShare::announce_death(std::uint32_t node, std::string const& why) const {
    rules.goes_on ? tell(*this, dead_name(node), why) : announce_failure(why);
}

bool NodeShare::announce_completion() const {
    try {
        return parts.take(kCompleting, [&] { return parts.give_up_spare(which.node); });
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return false;
        throw;
    }
}

std::string NodeShare::said(std::string const& name) const {
    FolderPause pause;
    for (auto const end_ns = base::monotonic_ns() + kUntilTextNs;; pause.pause()) {
        auto const names = parts.names();
        if (!names.contains(name)) return "";
        if (auto const text = parts.announced(name, names)) return *text;
        if (base::monotonic_ns() >= end_ns) return "no reason is known";
    }
}

std::string NodeShare::failure() const { return said(kFailure); }

std::string NodeShare::own_death() const { return rules.goes_on ? said(dead_name(which.node)) : ""; }

// A node that completes the file announces that first, then reads the journals, and then removes them, that of the
// first node in front of all names: so in this order.
std::string NodeShare::superseded() const {
    auto const names = parts.names();
    if (is_dead(which.node, names)) return "the others go on without this node: " + own_death();
    bool const is_there = names.contains(PartsFolder::journal_name(0)) && has_own_journal(*this, names);
    return is_there && !names.contains(kCompleting) ? ""
                                                    : "the run was completed, or is being recovered, without this node";
}

std::string NodeShare::superseded_in_completion() const {
    auto const names = parts.names();
    bool const is_there = has_own_journal(*this, names);
    return is_there && !names.contains(kRecovering) ? ""
                                                    : "the run was recovered, or is being recovered, without this node";
}

std::string NodeShare::advice(std::string const& path) const {
    auto recover = fmt::format("run `thalweg recover {}`", path);
    try {
        auto const names = parts.names();
        bool const is_over = !names.contains(PartsFolder::journal_name(0));
        if (is_over) return fmt::format("look into {}: what this node had made durable is there", path);
        if (!is_dead(which.node, names)) return recover;
        return "the others complete it, with what this node had made durable; if they do not, " + recover;
    } catch (base::SystemError const&) {
        return recover;
    }
}

// The name alone says it: the node that made it may have died before its text was whole.
bool NodeShare::is_dead(std::uint32_t node, PartsFolder::Names const& names) const {
    return rules.goes_on && names.contains(dead_name(node));
}

std::uint32_t NodeShare::first_living() const {
    auto const names = parts.names();
    std::uint32_t node = 0;
    while (node < which.node && is_dead(node, names)) ++node;
    return node;
}

std::uint32_t NodeShare::next_living() const {
    auto const names = parts.names();
    auto node = (which.node + 1) % which.nodes;
    while (node != which.node && is_dead(node, names)) node = (node + 1) % which.nodes;
    return node;
}

} // namespace thalweg::dataset
