#include "thalweg/dataset/nodes/meeting.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/node_folder/sign_of_life.h"
#include "thalweg/dataset/run/format_for.h"

namespace thalweg::dataset {
namespace {

// Returns nothing if it is not there, or not whole yet.
std::optional<JournalStart> start_of(std::string const& journal) {
    try {
        auto const file = storage::open_file_storage(journal, storage::OpenMode::read_only, storage::Engine::posix);
        auto start = read_start(*file);
        if (start.kind == JournalKind::other_version) static_cast<void>(require_start(*file));
        if (start.kind == JournalKind::journal) return start;
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
    }
    return std::nullopt;
}

// A node that has come is not looked at again: one list of names tells about all others.
class Arrivals {
  public:
    Arrivals(NodeShare const& share, std::string run_id)
        : share_(share), run_id_(std::move(run_id)), has_come_(share.which.nodes, false) {}

    std::string missing() {
        for (auto const node : share_.parts.nodes_with_journal()) {
            if (node >= has_come_.size() || has_come_[node]) continue;
            auto const start = start_of(share_.parts.journal(node));
            has_come_[node] = start && start->preamble.run_id == run_id_;
        }
        std::string names;
        for (std::uint32_t node = 0; node < has_come_.size(); ++node) {
            if (!has_come_[node]) names += (names.empty() ? "" : ", ") + name_of_node(node);
        }
        return names;
    }

  private:
    NodeShare const& share_;
    std::string run_id_;
    std::vector<bool> has_come_;
};

void check_failure(std::string const& path, NodeShare const& share) {
    if (auto const why = share.failure(); !why.empty()) base::fail_usage({"cannot write " + path, why});
}

std::string seconds(std::uint64_t ns) { return fmt::format("{:g} s", static_cast<double>(ns) / 1e9); }

// The others wait for this node in vain: they are told.
[[noreturn]] void disagree(std::string const& path, std::uint32_t node, std::string const& why) {
    PartsFolder const parts(path);
    if (!parts.announced(kBegun)) NodeShare{{node, 0}, parts, RegionPlan(0, 1, 0, 0), 0, {}}.announce_failure(why);
    base::fail_usage(
        {fmt::format("cannot join {} as {}", path, name_of_node(node)), why, "give the same on all nodes"});
}

} // namespace

std::optional<FirstNode> first_node_of(PartsFolder const& parts) {
    if (!parts.has_journal(0)) return std::nullopt;
    auto const start = start_of(parts.journal(0));
    if (!start) return std::nullopt;
    return FirstNode{node_of(start->preamble), model::run_head_from_json(start->head_json)};
}

void check_expected(std::string const& path, std::uint32_t node, JoinOptions const& options, FirstNode const& first) {
    auto const nodes = first.which.nodes;
    if (options.nodes != 0 && options.nodes != nodes)
        disagree(path, node,
                 fmt::format("node 1 was started with {} nodes, and this one with {}", nodes, options.nodes));
    if (node == 0 || node >= nodes) {
        base::fail_usage({fmt::format("cannot join {} as {}", path, name_of_node(node)),
                          fmt::format("the run has {} nodes, and node 1 creates it", nodes),
                          fmt::format("give 2 to {}", nodes)});
    }
    if (!options.schema) return;
    auto const wanted = format_for(path).make_head(*options.schema, {}, {}).schema;
    if (model::without_attributes(wanted) != model::without_attributes(first.head.schema))
        disagree(path, node, "it has another schema than node 1");
}

bool Deadline::pause() {
    if (base::monotonic_ns() >= end_ns_) return false;
    if (while_waiting_) while_waiting_();
    pause_.pause();
    return true;
}

void check_nodes(std::string const& path, CreateOptions const& options, bool continues) {
    if (options.nodes.nodes == 1) return;
    std::string const what = fmt::format("cannot create {} for {} nodes", path, options.nodes.nodes);
    if (options.nodes.nodes < 1 || options.nodes.nodes > kMostNodes)
        base::fail_usage({what, "", fmt::format("give 1 to {} nodes", kMostNodes)});
    if (options.keys_per_group > 0)
        base::fail_usage({what, "rows of several nodes cannot be ordered by key yet", "leave the order out"});
    if (continues)
        base::fail_usage(
            {what, "a run of several nodes cannot go on in another file yet", "close it, and begin another"});
    if (!options.shared) base::fail_usage({what, "its memory is for one process only", "let it be shared"});
}

std::unique_ptr<NodeShare> share_of(OpenRun const& run, NodeOfRun const& which, std::uint64_t timeout_ns,
                                    std::uint64_t flush_interval_ns) {
    // A journal grows with each flush, and a busy disk may take its time.
    auto const silence_ns = std::max(timeout_ns, 3 * flush_interval_ns);
    PartsFolder const parts(run.path());
    return std::make_unique<NodeShare>(NodeShare{which,
                                                 parts,
                                                 region_plan(*run.format, run.head, which.nodes),
                                                 silence_ns,
                                                 {},
                                                 base::identity_of(parts.journal(which.node))});
}

void meet_as_first(OpenRun const& run, NodesOptions const& options) {
    auto const& share = *run.node;
    share.parts.sync();
    Deadline deadline(options.timeout_ns, options.while_waiting);
    Arrivals arrivals(share, run.head.id);
    while (true) {
        check_failure(run.path(), share);
        auto const missing = arrivals.missing();
        if (missing.empty()) break;
        if (deadline.pause()) continue;
        auto const why = fmt::format("{} did not come within {}", missing, seconds(options.timeout_ns));
        share.announce_failure(why);
        base::fail_usage({fmt::format("cannot write {} from {} nodes", run.path(), share.which.nodes), why,
                          "start them with the same path, in a folder that all machines see"});
    }
    base::sync_directory_of(run.path()); // what others call durable from now on lies under the names in it
    announce_rules(share.parts, share.rules);
    share.parts.announce(kBegun, run.head.id);
    share.parts.sync();
}

FirstNode wait_for_first(std::string const& path, std::uint32_t node, JoinOptions const& options, Deadline& deadline) {
    PartsFolder const parts(path);
    SignOfLife mine(parts.beats(node));
    bool was_silent = true, was_listed = false;
    while (true) {
        std::string why = fmt::format("node 1 has not created it within {}", seconds(options.timeout_ns));
        was_listed = was_listed || parts.is_listed();
        if (auto const first = was_listed ? first_node_of(parts) : std::nullopt) {
            check_expected(path, node, options, *first);
            auto const names = parts.names();
            bool const is_there = names.contains(PartsFolder::journal_name(node));
            auto const failure = parts.announced(kFailure, names);
            bool const has_begun = parts.announced(kBegun, names).has_value();
            deadline.is_of(first->which.nodes);
            if (!is_there && !has_begun && !failure) return *first;
            why = is_there ? fmt::format("{} has joined already", name_of_node(node))
                           : failure.value_or("it has begun without this node");
            was_silent = was_silent && mine.silent_ns() > 0;
            if (is_there && has_begun && !was_silent) {
                base::fail_usage({fmt::format("cannot join {} as {}", path, name_of_node(node)), why + ", and writes",
                                  "give each node a number of its own"});
            }
        }
        if (deadline.pause()) continue;
        base::fail_usage({fmt::format("cannot join {} as {}", path, name_of_node(node)), why,
                          "start node 1 with the same path, in a folder that all machines see; where a run has crashed "
                          "there, recover it first"});
    }
}

bool wait_until_begun(OpenRun const& run, Deadline& deadline) {
    auto const& share = *run.node;
    while (true) {
        auto const names = share.parts.names();
        if (share.parts.announced(kBegun, names) == run.head.id) return true;
        check_failure(run.path(), share);
        if (!names.contains(PartsFolder::journal_name(0))) return false;
        auto const first = start_of(share.parts.journal(0));
        if (!first || first->preamble.run_id != run.head.id) return false;
        if (deadline.pause()) continue;
        auto const missing = Arrivals(share, run.head.id).missing();
        base::fail_usage({fmt::format("cannot write {} from {} nodes", run.path(), share.which.nodes),
                          missing.empty() ? "node 1 does not answer" : missing + " did not come in time",
                          "start them with the same path, in a folder that all machines see"});
    }
}

} // namespace thalweg::dataset
