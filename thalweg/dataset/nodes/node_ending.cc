#include "thalweg/dataset/nodes/node_ending.h"

#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/node_folder/node_watch.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kBeatNs = 1'000'000'000;

std::string names_of(std::vector<std::uint32_t> const& nodes) {
    std::string names;
    for (auto const node : nodes) names += (names.empty() ? "" : ", ") + name_of_node(node);
    return names;
}

} // namespace

NodeEnding::NodeEnding(NodeShare const& share, std::string path, FinishedPart const& part)
    : share_(share), path_(std::move(path)), pause_(share.which.nodes) {
    if (share.which.node == 0 || share.rules.goes_on) thread_ = base::Thread([this] { beat(); });
    try {
        share.announce(finished_name(share.which.node), part.text());
    } catch (...) {
        stop(); // otherwise it would beat for ever, and its destructor would wait for that
        throw;
    }
}

NodeEnding::~NodeEnding() { stop(); }

void NodeEnding::stop() {
    {
        base::Lock const lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// A node that may complete the file gives signs of life also when there are no flushes any more.
void NodeEnding::beat() {
    Heartbeat heartbeat(share_.parts.beats(share_.which.node));
    base::Lock lock(mutex_);
    while (!stop_) {
        heartbeat.beat();
        wake_.wait_for(lock, kBeatNs);
    }
}

std::vector<std::uint32_t> NodeEnding::unfinished(PartsFolder::Names const& names) const {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t node = 0; node < share_.which.nodes; ++node) {
        bool const is_dead = share_.rules.goes_on && names.contains(dead_name(node));
        bool const is_done = is_dead || names.contains(finished_name(node));
        if (node != share_.which.node && !is_done) nodes.push_back(node);
    }
    return nodes;
}

std::string NodeEnding::waits_for() const try {
    auto const nodes = unfinished(share_.parts.names());
    return nodes.empty() ? name_of_node(share_.first_living()) + " is completing it"
                         : names_of(nodes) + " still writes";
} catch (base::SystemError const& error) {
    return error.what();
}

// A folder that does not answer says nothing about the other nodes, unless it is silent for as long as a node may be.
NodeEnding::Next NodeEnding::next() {
    try {
        auto const next = look();
        unanswered_ns_ = 0;
        return next;
    } catch (base::SystemError const& error) {
        auto const now = base::monotonic_ns();
        if (error.code == 0 || (unanswered_ns_ != 0 && now - unanswered_ns_ > share_.timeout_ns)) throw;
        if (unanswered_ns_ == 0) {
            unanswered_ns_ = now;
            base::say(fmt::format("cannot see how the other nodes of {} are ({}): this node asks again", path_,
                                  error.what()));
        }
        return Next::wait;
    }
}

NodeEnding::Next NodeEnding::look() {
    check();
    if (is_over(share_.parts.names())) return Next::over;
    return is_completing_ || is_to_complete() ? Next::complete : Next::wait;
}

// The node that has announced it does it, and no node after: if it dies in the middle of it, the others cannot know
// what it still writes. If the journals are gone, another node has completed the file. A look that fails behind the
// announcement is done again: the name stays this node's.
bool NodeEnding::is_to_complete() {
    if (!has_announced_) {
        if (share_.first_living() != share_.which.node || !unfinished(share_.parts.names()).empty()) return false;
        has_announced_ = share_.announce_completion();
    }
    THALWEG_ASSERT(!is_completing_, "a node completes a file once");
    if (!share_.parts.has_journal(0)) {
        if (has_announced_) share_.parts.remove(); // what is left of it
        return false;
    }
    is_completing_ = has_announced_;
    if (is_completing_) return true;
    base::fail_system({path_ + " cannot be completed by the nodes that wrote it",
                       "a node that was completing it has died", fmt::format("run `thalweg recover {}`", path_)});
}

bool NodeEnding::is_over(PartsFolder::Names const& names) {
    if (!summary_) summary_ = share_.parts.announced(kComplete, names);
    if (summary_) return true;
    if (names.contains(PartsFolder::journal_name(0))) return false;
    summary_ = share_.parts.announced(kComplete); // it goes last
    return true;
}

void NodeEnding::look_at(std::uint32_t node) {
    auto const is_finished = [&] { return share_.parts.has(finished_name(node)); };
    bool const was_finished = is_finished();
    auto const silent_ns = lives_.try_emplace(node, share_.parts.beats(node)).first->second.silent_ns();
    // A node that has finished meanwhile may beat no more.
    if (silent_ns > share_.timeout_ns && was_finished == is_finished())
        share_.announce_death(node, silent_node(share_.parts, node, silent_ns));
}

// The node that completes the file looks at all that still write, and all others at that one and at their neighbour.
void NodeEnding::look_at_all() {
    auto const first = share_.first_living();
    auto const writing = unfinished(share_.parts.names());
    if (first != share_.which.node) look_at(first);
    auto const neighbour = share_.next_living();
    for (auto const node : writing) {
        if (first == share_.which.node || node == neighbour) look_at(node);
    }
}

void NodeEnding::check() {
    if (auto const now = base::monotonic_ns(); now >= next_look_ns_) {
        next_look_ns_ = now + kBeatNs;
        look_at_all();
    }
    auto const names = share_.parts.names();
    if (is_over(names)) return;
    bool const is_dead = share_.rules.goes_on && names.contains(dead_name(share_.which.node));
    if (!is_dead && !names.contains(kFailure)) return;
    auto const why = is_dead ? "the others go on without this node: " + share_.own_death() : share_.failure();
    if (why.empty()) return; // its text is just being written
    base::fail_system({path_ + " cannot be completed by the nodes that wrote it", why, share_.advice(path_)});
}

} // namespace thalweg::dataset
