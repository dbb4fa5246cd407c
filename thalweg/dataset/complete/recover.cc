#include "thalweg/dataset/complete/recover.h"

#include <algorithm>

#include "thalweg/dataset/complete/missing_part.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/node_folder/region_plan.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

// Keeps out of the way of those that may not be down after all. They see the announcements, and take no regions any
// more; nothing that they have called durable before is missing in their journals, which are read behind that.
void leave_room_for_others(UnfinishedRun const& run, CompleteOptions& options) {
    if (may_be_written_elsewhere(run.places, run.journals).empty()) return;
    auto const parts = run.place().parts();
    constexpr char const* kText = "a recovery was told that all nodes are down";
    parts.announce(kRecovering, kText);
    options.is_beside_another = !parts.announce(kCompleting, kText); // one that writes its metadata, perhaps
    if (options.is_beside_another) options.least_end = std::max(options.least_end, run.file->size());
    auto const taken = parts.regions();
    if (taken.empty()) return;
    auto const nodes = node_of(run.journals.front().required_start()->preamble).nodes;
    auto const plan = region_plan(*run.format, run.head, nodes);
    options.least_end = std::max(options.least_end, plan.region(taken.back()).end);
}

} // namespace

void remove_journals(std::vector<RunPlace> const& places, Journals const& journals, std::string const& run_id) {
    // The memory goes first: while there is a journal, `recover` comes back for the rest.
    for (std::size_t i = 0; i < places.size(); ++i) remove_memory_of(run_id, places[i], journals[i]);
    places.front().remove_journal();
}

CompleteResult recover(std::string const& path, RecoverOptions const& recover_options) {
    auto run = take_over(path, "recover", recover_options.all_nodes_are_down);
    CompleteOptions options;
    if (!run.is_original) options.state = RunState::copied;
    options.least_end = run.claimed;
    std::vector<std::string> missing; // of nodes that had finished
    if (run.place().is_of_many()) {
        auto const nodes = node_of(run.journals.front().required_start()->preamble).nodes;
        if (run.is_original)
            options.check_gathered = [&, nodes](Gathered const& gathered) {
                if (!gathered.closed) missing = missing_parts(run.place().parts(), nodes, gathered);
            };
        options.before_metadata = [&](std::uint64_t end) { use_rooms(run.places, *run.file, end); };
        if (run.is_original) leave_room_for_others(run, options);
    }
    auto result = complete_run(*run.file, run.journals, *run.format, options);
    auto& report = result.report;
    auto lost = lost_with_memory(run, report);
    lost.insert(lost.end(), missing.begin(), missing.end());
    if (!lost.empty()) report.rows_may_be_missing = true;
    report.notes.insert(report.notes.end(), lost.begin(), lost.end());
    if (run.is_original)
        remove_journals(run.places, run.journals, run.head.id);
    else
        run.place().remove_journal();
    return result;
}

} // namespace thalweg::dataset
