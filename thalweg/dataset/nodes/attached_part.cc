#include "thalweg/dataset/nodes/attached_part.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/complete/part_of_dead.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

void tell_others(RunPlace const& place, std::string const& why) {
    auto const parts = place.parts();
    NodeShare share{place.node(), parts, RegionPlan(0, 1, 0, 0), 0, rules_of(parts)};
    share.journal = base::identity_of(place.journal());
    share.announce_end(why);
}

// The locks of this process are gone. Those of other processes of the node let only the last one through.
void end_part(RunPlace const& place, base::ProcessId const& committer) {
    if (base::is_alive(committer) || place.parts().has(kCompleting) || !place.has_journal()) return;
    if (journal_part_of_dead(place))
        tell_others(place, fmt::format("its process {} has died, and another process of this node has journaled what "
                                       "was left",
                                       committer.pid));
}

void leave(std::shared_ptr<OpenRun>& run, RunPlace const& place) noexcept {
    auto const committer = run->ledger->head().committer;
    run.reset();
    try {
        end_part(place, committer);
    } catch (std::exception const& error) {
        base::say(fmt::format("what the processes of {} have left in memory is not in its journal ({}): it stays in "
                              "memory",
                              name_of_node(place.node().node), error.what()));
    }
}

} // namespace

std::shared_ptr<OpenRun> attach_to_part(std::string const& handle, std::optional<unsigned> seal_threads,
                                        std::function<void()> while_waiting) {
    auto run = attach(handle, seal_threads, std::move(while_waiting));
    RunPlace const place(run->ledger->head().path, run->ledger->node());
    if (!place.is_of_many() || !rules_of(place.parts()).goes_on) return run;
    auto* const held = run.get();
    return {held, [run = std::move(run), place](OpenRun*) mutable { leave(run, place); }};
}

} // namespace thalweg::dataset
