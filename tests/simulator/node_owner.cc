#include "tests/simulator/node_owner.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {
constexpr int kTries = 20; // to close: other nodes may take long

} // namespace

bool NodeOwner::come() {
    auto const& run = scenario_.run;
    try {
        if (node_ == 0) {
            promises_.rows.creation_begun = true;
            writer_ = dataset::Writer::create(run.path, run.schema, run.options);
        } else {
            dataset::JoinOptions options;
            options.timeout_ns = scenario_.timeout_ns;
            writer_ = dataset::Writer::join(run.path, node_, options);
        }
    } catch (base::Error const& error) {
        world_.note(1);
        world_.tell(fmt::format("node {} does not come: {}", node_ + 1, error.what()));
        return false;
    }
    world_.tell(fmt::format("node {} has come", node_ + 1));
    promises_.nodes[node_].joined = true;
    handle_ = writer_->handle();
    return true;
}

void NodeOwner::own(std::function<bool()> const& others) {
    while (others()) {
        ask();
        base::sleep_ns(random_.any_size(20'000'000));
    }
    // Rows become durable by themselves meanwhile.
    if (random_.chance(0.3)) base::sleep_ns(random_.any_size(2'000'000'000));
    ask();
    if (scenario_.nodes[node_].end == Scenario::End::close) return close();
    if (scenario_.nodes[node_].end == Scenario::End::abandon) return abandon();
    writer_.reset(); // abandons the run, too, without telling others
}

void NodeOwner::ask() {
    auto const asked_ns = base::monotonic_ns();
    auto const status = writer_->status();
    promises_.rows.status_said(asked_ns, status.durable_lag_ns, node_);
    auto const age_ns = status.units_not_durable > 0 ? status.units_oldest_age_ns : 0;
    promises_.rows.status_said_of_units(asked_ns, age_ns, node_);
}

void NodeOwner::close() {
    promises_.nodes[node_].close_begun = promises_.rows.close_begun = true;
    for (int i = 0; i < kTries; ++i) {
        if (!try_to_close()) return;
    }
}

// Returns whether another try makes sense.
bool NodeOwner::try_to_close() {
    dataset::CompleteResult result;
    try {
        result = writer_->close(5 * base::kSecondNs);
    } catch (base::SystemError const& error) {
        world_.note(2);
        world_.tell(fmt::format("node {} cannot close: {}", node_ + 1, error.what()));
        return error.code == ETIMEDOUT;
    } catch (base::Error const& error) {
        world_.note(2);
        world_.tell(fmt::format("node {} cannot close: {}", node_ + 1, error.what()));
        return false;
    }
    promises_.nodes[node_].closed = true;
    world_.tell(fmt::format("node {} has closed", node_ + 1));
    note_complete(result.report);
    return false;
}

// Only the node that completes the file has the whole report.
void NodeOwner::note_complete(dataset::RunReport const& report) {
    auto const blame = [&](std::string const& text) {
        world_.blame(fmt::format("when node {} had closed it: {}", node_ + 1, text));
    };
    check_complete(world_, scenario_.run.path, promises_, blame);
    if (!report.nodes.empty() && promises_.complete)
        check_what_is_lost_is_named(promises_, *promises_.complete, report, blame);
}

// If the others go on without a node, they may have completed the file before it had journaled everything.
void NodeOwner::abandon() {
    writer_->abandon();
    world_.tell(fmt::format("node {} has abandoned", node_ + 1));
    promises_.nodes[node_].kept = promises_.is_waited_for(node_) && !promises_.disk_failed;
}

void check_complete(World& world, std::string const& path, NodePromises& promises, Blame const& blame) {
    World::Answering const answering(world);
    try {
        auto const reader = dataset::Reader::open(path);
        World::Undivided const undivided(world);
        if (reader->is_open_run()) return blame("it is not complete");
        auto found = read_all(*reader, blame);
        auto const closed = [&](std::uint32_t node) {
            return promises.nodes[node].closed || promises.nodes[node].kept;
        };
        check_promises(promises.rows, found, closed, blame);
        if (promises.complete && *promises.complete != found) blame("it was complete, and has other rows now");
        if (!promises.complete) promises.complete = std::move(found);
    } catch (base::Error const& error) {
        blame(fmt::format("it cannot be read: {}", error.what()));
    }
}

} // namespace thalweg::simulator
