#include "thalweg/dataset/nodes/node_resumption.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/begin/resumption.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/nodes/joining.h"
#include "thalweg/dataset/nodes/resume_attempt.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

void check_not_recovered(std::string const& path, PartsFolder const& parts) {
    if (!parts.has(kRecovering)) return;
    base::fail_usage({"cannot resume the run at " + path, "its recovery has begun",
                      fmt::format("run `thalweg recover {}`, and begin a new run", path)});
}

// Otherwise its machine was lost before its journal was durable, or the run has never begun.
bool has_part(RunPlace const& place) { return place.has_journal() && !place.is_stub(); }

// They lie behind all that the file has, also behind what a node wrote that could not complete it.
void take_regions_in_front_of(std::uint64_t offset, NodeShare const& share) {
    auto const taken = share.parts.regions();
    for (auto number = taken.empty() ? 0 : taken.back() + 1; share.plan.region(number).begin < offset; ++number)
        share.parts.take_region(number);
}

// With other knobs the regions of the nodes would lie elsewhere in the file.
void check_same_regions(UnfinishedRun const& unfinished, model::RunHead const& head) {
    auto const nodes = unfinished.place().node().nodes;
    if (region_plan(*unfinished.format, head, nodes) == region_plan(*unfinished.format, unfinished.head, nodes)) return;
    base::fail_usage({"cannot resume the run at " + unfinished.place().data(),
                      "with these knobs the regions of its nodes would lie elsewhere in the file",
                      "leave extent_bytes and allocate_ahead_bytes out"});
}

// What is left goes into the journals of the other nodes, too.
void journal_for_others(UnfinishedRun const& unfinished, Gathered const& gathered) {
    auto const producers = producers_of_nodes(gathered);
    for (auto const& files : unfinished.journals) {
        auto const node = node_of(files.required_start()->preamble).node;
        if (node == 0) continue;
        auto journal = JournalWriter::resume(files);
        journal_what_is_left(gathered, producers.at(node), journal);
    }
}

void let_others_go_on(BegunRun& begun, ResumeAttempt const& attempt, Resumption const& resumption,
                      std::uint64_t first_free_offset) {
    auto& run = *begun.run;
    auto const& share = *run.node;
    share.parts.forget_announcements();
    check_not_recovered(run.path(), share.parts); // behind that: what a node announces from now on stays
    take_regions_in_front_of(first_free_offset, share);
    announce_rules(share.parts, share.rules);
    run.keys = shared_keys(share.parts, share.which.node, share.rules);
    share.parts.announce(kBegun, run.head.id);
    attempt.tell(resumption.resumed());
}

// The run that goes on is in `begun` as soon as other nodes may have been told about it.
void go_on_as_first(BegunRun& begun, UnfinishedRun unfinished, CreateOptions const& options,
                    ResumeAttempt const& attempt) {
    Resumption resumption(std::move(unfinished), options);
    check_same_regions(resumption.unfinished(), resumption.gathered().head);
    resumption.keep_what_is_there();
    journal_for_others(resumption.unfinished(), resumption.gathered());
    begun = resumption.open_again();
    auto const first_free = resumption.first_free_offset(begun);
    // What a node wrote that could not complete the file is in front of that, and may be in no region.
    begun.journal->append(RecordType::footer, FooterRecord{first_free, 0});
    auto& run = *begun.run;
    run.node = share_of(run, resumption.unfinished().place().node(), options.nodes.timeout_ns,
                        begun.tuning.commit.flush_interval_ns);
    run.node->rules = options.nodes.rules;
    resumption.make_memory(begun, 0);
    let_others_go_on(begun, attempt, resumption, first_free);
    resumption.count_what_is_there(begun);
}

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

// Opens the journal of a node that has returned once all of it is seen here: what is appended to it cuts off what is
// not.
JournalFiles open_returned(RunPlace const& place, std::uint64_t bytes, NodesOptions const& options) {
    Deadline deadline(options.timeout_ns, options.while_waiting);
    while (true) {
        auto files = place.open_journal(storage::OpenMode::read_write);
        auto const start = files.start();
        std::uint64_t seen = 0;
        if (start->kind == JournalKind::journal)
            seen = walk_records(*files.main, start->preamble.records, [](auto const&) { return true; }).end_offset;
        if (seen >= bytes) return files;
        if (deadline.pause()) continue;
        base::fail_usage({fmt::format("cannot resume the run at {}", place.data()),
                          fmt::format("{} has returned with a journal of {} bytes, and this machine sees {}",
                                      name_of_node(place.node().node), bytes, seen),
                          "try again when this machine sees the folder as it is"});
    }
}

std::optional<UnfinishedRun> take_over_own(RunPlace const& place, Deadline& deadline) try {
    if (!has_part(place)) return std::nullopt;
    return take_over_part(place, "resume");
} catch (std::exception const& error) {
    announce_no_return(place.parts(), place.node().node, error.what(), deadline);
    throw;
}

void start_returned(BegunRun& begun, RunPlace const& place, FirstNode const& first, ResumedRun const& resumed,
                    UnfinishedRun* own, JoinOptions const& options) {
    auto& run = *begun.run;
    auto const node = place.node().node;
    auto head = first.head;
    head.knobs = resumed.knobs;
    if (own == nullptr) base::remove_file(place.journal()); // a beginning that was torn
    begun.files = place.open_journal(own != nullptr ? storage::OpenMode::read_write : storage::OpenMode::create_new);
    open_joined(begun, place, head, options);
    remove_memory_of(head.id, place, begun.files);
    if (own != nullptr) {
        run.journal_lock = std::move(own->locks.front());
        static_cast<void>(base::try_lock_file(run.journal_lock, place.journal(), false)); // shared from now on
        begun.journal = JournalWriter::resume(begun.files, fit_to_budget({}, begun.tuning.commit.rows_budget_bytes));
        make_ledger(begun, memory_fallback(place.data(), memory_folder_of(begun.files)), true, 0);
    } else {
        run.journal_lock = place.lock_shared();
        begin_joined(begun, place);
    }
    watch_part(begun, place);
    run.ledger->head().next_producer = resumed.next_producers.at(node);
    take_keys(resumed.keys, {}, *run.ledger);
    run.ledger->head().units_committed = resumed.units.at(node);
    take_rules(begun, place);
}

} // namespace

BegunRun resume_as_first(std::string const& path, std::optional<model::Schema> const& schema,
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
    ResumeAttempt const attempt(parts, nodes);
    BegunRun begun;
    try {
        auto const journal_bytes = attempt.wait_for_others(path, options.nodes);
        for (std::uint32_t node = 1; node < nodes; ++node) {
            RunPlace const place(path, {node, nodes});
            if (journal_bytes[node] > 0 || has_part(place))
                unfinished.journals.push_back(open_returned(place, journal_bytes[node], options.nodes));
        }
        go_on_as_first(begun, std::move(unfinished), options, attempt);
    } catch (std::exception const& error) {
        attempt.refuse(error.what());
        if (begun.run->node) begun.run->node->announce_failure(error.what()); // to those that had been told to go on
        throw;
    }
    return begun;
}

BegunRun return_to_run(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    Deadline deadline(options.timeout_ns, options.while_waiting);
    auto const first = expected_first(path, node, options);
    deadline.is_of(first.which.nodes);
    RunPlace const place(path, {node, first.which.nodes});
    auto const told_before = last_told(place.parts());
    auto own = take_over_own(place, deadline);
    auto const own_bytes = own ? own->journals.front().main->size() : 0; // nothing is reserved behind its records
    auto const resumed = return_and_wait(place.parts(), node, told_before, deadline, own_bytes);
    BegunRun begun;
    try {
        start_returned(begun, place, first, resumed, own ? &*own : nullptr, options);
    } catch (std::exception const& error) {
        if (begun.run->node) begun.run->node->announce_end(error.what());
        throw;
    }
    return begun;
}

} // namespace thalweg::dataset
