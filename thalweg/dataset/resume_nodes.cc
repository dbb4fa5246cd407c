// A run that several nodes write goes on, with as many.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/resume.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

void check_not_recovered(std::string const& path, PartsFolder const& parts) {
    if (!base::identity_of(parts.path() + "/" + kRecovering)) return;
    base::fail_usage({"cannot resume the run at " + path, "somebody has begun to recover it, or does so now",
                      fmt::format("run `thalweg recover {}`, and begin a new run", path)});
}

// Else its machine was lost before its journal was durable, or the run has never begun.
bool has_part(RunPlace const& place) { return place.has_journal() && !place.is_stub(); }

// Behind all that the file has: also what somebody wrote who could not complete it.
void take_regions_in_front_of(std::uint64_t offset, NodeShare const& share) {
    auto const taken = share.parts.regions();
    for (auto number = taken.empty() ? 0 : taken.back() + 1; share.plan.region(number).begin < offset; ++number)
        share.parts.take_region(number);
}

} // namespace

void check_same_regions(UnfinishedRun const& unfinished, model::RunHead const& head) {
    auto const nodes = unfinished.place().node().nodes;
    if (region_plan(*unfinished.format, head, nodes) == region_plan(*unfinished.format, unfinished.head, nodes)) return;
    base::fail_usage({"cannot resume the run at " + unfinished.place().data(),
                      "with these knobs the regions of its nodes would lie elsewhere in the file",
                      "leave extent_bytes and allocate_ahead_bytes out"});
}

void journal_for_others(UnfinishedRun const& unfinished, Gathered const& gathered) {
    auto const producers = producers_of_nodes(gathered);
    for (auto const& files : unfinished.journals) {
        auto const node = node_of(files.required_start()->preamble).node;
        if (node == 0) continue;
        auto journal = JournalWriter::resume(files);
        journal_what_is_left(gathered, producers.at(node), journal);
    }
}

void Writer::resume_as_first(std::string const& path, std::optional<model::Schema> const& schema,
                             CreateOptions const& options) {
    PartsFolder const parts(path);
    auto const first = first_node_of(parts);
    if (!first || is_stub(places_of_run(path))) take_over(path, "resume"); // says so, and clears it away
    auto const nodes = first->which.nodes;
    if (options.nodes.nodes != nodes) {
        base::fail_usage({"cannot resume the run at " + path,
                          fmt::format("it has {} nodes, and nodes={} is given", nodes, options.nodes.nodes),
                          fmt::format("start all {} again, with nodes={} on the first", nodes, nodes)});
    }
    auto unfinished = take_over_part({path, first->which}, "resume");
    check_resumed(unfinished, schema, options);
    check_not_recovered(path, parts);
    Resuming const resuming(parts, nodes);
    try {
        resuming.wait_for_others(path, options.nodes);
        for (std::uint32_t node = 1; node < nodes; ++node) {
            RunPlace const place(path, {node, nodes});
            if (has_part(place)) unfinished.journals.push_back(place.open_journal(storage::OpenMode::read_write));
        }
        go_on(unfinished, options, &resuming);
    } catch (std::exception const& error) {
        resuming.refuse(error.what());
        if (run_ && run_->node) run_->node->announce_failure(error.what()); // to those who had been told to go on
        throw;
    }
}

void Writer::let_others_go_on(Resuming const& resuming, ResumedRun const& resumed, std::uint64_t first_free_offset) {
    auto const& share = *run_->node;
    share.parts.forget_announcements();
    check_not_recovered(path(), share.parts); // behind that: what somebody announces from now on stays
    take_regions_in_front_of(first_free_offset, share);
    announce_rules(share.parts, share.rules);
    run_->keys = shared_keys(share.parts, share.which.node, share.rules);
    share.parts.announce(kBegun, run_->head.id);
    resuming.tell(resumed);
}

namespace {

FirstNode expected_first(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    PartsFolder const parts(path);
    auto first = first_node_of(parts);
    if (!first) {
        base::fail_usage({fmt::format("cannot resume the run at {} as {}", path, name_of_node(node)),
                          fmt::format("there is no {}", parts.journal(0))});
    }
    check_expected(path, node, options, *first);
    return *std::move(first);
}

std::optional<UnfinishedRun> take_over_own(RunPlace const& place, Deadline& deadline) try {
    if (!has_part(place)) return std::nullopt;
    return take_over_part(place, "resume");
} catch (std::exception const& error) {
    announce_no_return(place.parts(), place.node().node, error.what(), deadline);
    throw;
}

} // namespace

std::unique_ptr<Writer> Writer::return_to(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    Deadline deadline(options.timeout_ns, options.while_waiting);
    auto const first = expected_first(path, node, options);
    deadline.is_of(first.which.nodes);
    RunPlace const place(path, {node, first.which.nodes});
    auto const told_before = last_told(place.parts());
    auto own = take_over_own(place, deadline);
    auto const resumed = return_and_wait(place.parts(), node, told_before, deadline);
    std::unique_ptr<Writer> writer(new Writer);
    try {
        writer->start_returned(place, first, resumed, own ? &*own : nullptr, options);
    } catch (std::exception const& error) {
        if (writer->run_->node) writer->run_->node->announce_end(error.what());
        throw;
    }
    return writer;
}

void Writer::start_returned(RunPlace const& place, FirstNode const& first, ResumedRun const& resumed,
                            UnfinishedRun* own, JoinOptions const& options) {
    run_ = std::make_shared<OpenRun>();
    run_->while_waiting = options.while_waiting;
    auto const node = place.node().node;
    auto head = first.head;
    head.knobs = resumed.knobs;
    if (own == nullptr) base::remove_file(place.journal()); // a beginning that was torn
    journal_ = place.open_journal(own != nullptr ? storage::OpenMode::read_write : storage::OpenMode::create_new);
    auto const tuning = open_joined(place, head, options.timeout_ns);
    remove_memory_of(head.id, place, journal_);
    if (own != nullptr) {
        run_->journal_lock = std::move(own->locks.front());
        static_cast<void>(base::try_lock_file(run_->journal_lock, place.journal(), false)); // shared from now on
        joined_journal_ = JournalWriter::resume(journal_);
        make_ledger(tuning, memory_fallback(place.data(), memory_folder_of(journal_)), true, 0);
    } else {
        run_->journal_lock = place.lock_shared();
        begin_joined(place, tuning);
    }
    watch_part(place);
    run_->ledger->head().next_producer = resumed.next_producers.at(node);
    take_keys(resumed.keys, {}, *run_->ledger);
    run_->ledger->head().units_committed = resumed.units.at(node);
    run_->node->rules = rules_of(place.parts());
    run_->keys = shared_keys(place.parts(), node, run_->node->rules);
    start_committer(std::move(*joined_journal_), tuning.commit);
    joined_journal_.reset();
}

} // namespace thalweg::dataset
