#include "thalweg/dataset/complete/nodes_down.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/node_folder/node_rules.h"

namespace thalweg::dataset {
namespace {

struct Machine {
    std::string host;
    std::string boot_id;
};

Machine machine_of(JournalFiles const& journal) {
    auto const start = journal.start();
    return {start->preamble.host, start->preamble.boot_id};
}

// The first node completes the file, or, if the nodes go on without dead ones, any of them: that such a node has
// journaled all that it had does not say that it is gone.
bool writes_no_more(RunPlace const& place, NodeRules const& rules) {
    bool const may_complete = place.node().node == 0 || rules.goes_on;
    return !may_complete && place.parts().announced(finished_name(place.node().node));
}

} // namespace

std::string may_be_written_elsewhere(std::vector<RunPlace> const& places, Journals const& journals) {
    if (!places.front().is_of_many()) return "";
    auto const rules = rules_of(places.front().parts());
    std::map<std::string, std::set<std::string>> boots; // by host: if all machines have one name it tells nothing
    std::vector<std::pair<std::uint32_t, Machine>> elsewhere;
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto const& place = places[i];
        auto machine = machine_of(journals[i]);
        if (machine.boot_id.empty()) continue; // nothing but a beginning that was torn
        boots[machine.host].insert(machine.boot_id);
        if (machine.boot_id != base::boot_id() && !writes_no_more(place, rules))
            elsewhere.emplace_back(place.node().node, machine);
    }
    std::string nodes;
    for (auto const& [node, machine] : elsewhere) {
        bool const was_restarted = machine.host == base::host_name() && boots[machine.host].size() == 1;
        if (!was_restarted)
            nodes += fmt::format("{}{} on {}", nodes.empty() ? "" : ", ", name_of_node(node), machine.host);
    }
    return nodes;
}

void check_nodes_are_down(std::vector<RunPlace> const& places, Journals const& journals, char const* verb) {
    auto const nodes = may_be_written_elsewhere(places, journals);
    if (nodes.empty()) return;
    base::fail_usage(
        {fmt::format("cannot {} the run at {}", verb, places.front().data()),
         fmt::format("{} may still write it, and this machine, {}, cannot know", nodes, base::host_name()),
         "make sure that its processes are gone, and `thalweg recover --all-nodes-are-down` it (in a program: "
         "option all_nodes_are_down)"});
}

bool is_stub(std::vector<RunPlace> const& places, Journals const& journals) {
    bool found = !places.empty();
    for (std::size_t i = 0; i < places.size() && found; ++i) found = places[i].is_stub(journals[i]);
    return found;
}

bool is_stub(std::vector<RunPlace> const& places) {
    return is_stub(places, open_journals(places, storage::OpenMode::read_only));
}

void use_rooms(std::vector<RunPlace> const& places, storage::Storage& file, std::uint64_t end_offset) {
    std::uint64_t bytes = 0;
    for (auto const& place : places) {
        auto const room = place.parts().room(place.node().node);
        try {
            bytes += storage::open_file_storage(room, storage::OpenMode::read_only, storage::Engine::posix)->size();
        } catch (base::SystemError const& error) {
            if (error.code != ENOENT) throw;
            continue; // or another node that completes the file, too, has just taken it
        }
        base::remove_file(room);
    }
    file.reserve(end_offset, bytes);
}

} // namespace thalweg::dataset
