#include "thalweg/dataset/nodes/node_run.h"

#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

constexpr char const* kNoReason = "no reason is known"; // its announcement has no text

// What all nodes are told about the file that the first one has completed.
std::string summary_of(CompleteResult const& result) {
    nlohmann::json summary{{"units", result.report.units}};
    for (auto const& table : result.report.tables) summary["tables"].push_back({table.table, table.rows});
    return summary.dump();
}

std::optional<CompleteResult> result_of(std::string const& summary) {
    auto const json = nlohmann::json::parse(summary, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    CompleteResult result;
    result.report.units = json.at("units");
    for (auto const& table : json.at("tables")) result.report.tables.push_back({.table = table[0], .rows = table[1]});
    return result;
}

std::optional<CompleteResult> result_of_file(storage::Storage const& file, format::Format const& format) try {
    auto const map = format.load(file);
    if (!map.closed) return std::nullopt;
    CompleteResult result;
    result.report.units = decode_units(map.units).size();
    for (std::size_t i = 0; i < map.tables.size(); ++i)
        result.report.tables.push_back({.table = map.head.schema.tables[i].name, .rows = map.tables[i].rows});
    return result;
} catch (base::DataError const&) {
    return std::nullopt;
}

// Notes the nodes without which the others have gone on.
void note_dead(std::vector<std::uint32_t> const& dead, PartsFolder const& parts, RunReport& report) {
    for (auto const node : dead) {
        auto const why = parts.announced(dead_name(node)).value_or(kNoReason);
        bool const has_all = node < report.nodes.size() && report.nodes[node].settled;
        report.notes.push_back(fmt::format("the others went on without {} ({}): {}", name_of_node(node), why,
                                           has_all ? "all that it had appended is there"
                                                   : "what its last flush had not made durable is missing"));
        report.rows_may_be_missing = report.rows_may_be_missing || !has_all;
    }
}

std::string rows_are_safe(std::string const& path) {
    return fmt::format("what was appended is in the journals: run `thalweg recover {}`", path);
}

} // namespace

NodeRun::NodeRun(BegunRun const& begun)
    : run_(begun.run), journal_(begun.files), watch_(begun.watch),
      whole_file_checksum_(begun.tuning.whole_file_checksum) {
    THALWEG_ASSERT(run_->node && run_->node->which.nodes > 1, "a run of several nodes has a part for each");
}

std::map<std::uint32_t, std::string> NodeRun::dead_nodes() const {
    std::map<std::uint32_t, std::string> dead;
    if (!run_->node->rules.goes_on) return dead;
    auto const& parts = run_->node->parts;
    for (auto const node : parts.dead_nodes()) dead[node] = parts.announced(dead_name(node)).value_or(kNoReason);
    return dead;
}

void NodeRun::finish() {
    THALWEG_ASSERT(!ending_, "a node finishes its part once");
    if (auto const problem = watch_->problem(); !problem.empty()) base::fail_system({problem});
    auto const& head = run_->ledger->head();
    if (head.state == LedgerState::failed) base::fail_system({head.failure, "", rows_are_safe(run_->path())});
    // Behind the last sync of its journal: a node that completes the file from now on reads all of it.
    if (auto const problem = run_->node->superseded(); !problem.empty())
        base::fail_system({fmt::format("{} cannot be closed by this node", run_->path()), problem});
    ending_ = std::make_unique<NodeEnding>(*run_->node, run_->path());
}

CompleteResult NodeRun::complete(std::uint64_t end_ns) {
    THALWEG_ASSERT(ending_ != nullptr, "a node completes the file behind its own part");
    while (true) {
        ending_->check();
        if (ending_->is_over()) return completed_by_another();
        if (ending_->is_to_complete()) return complete_for_all();
        if (base::monotonic_ns() >= end_ns) {
            auto const unfinished = ending_->unfinished();
            base::fail_system({fmt::format("{} cannot be closed yet", run_->path()),
                               unfinished.empty() ? name_of_node(run_->node->first_living()) + " is completing it"
                                                  : names_of(unfinished) + " still writes",
                               "close it on all nodes"},
                              ETIMEDOUT);
        }
        ending_->pause();
    }
}

// Once one node completes the file, no other can do so after it.
void NodeRun::fail(std::string const& why) {
    ending_ ? run_->node->announce_failure(why) : run_->node->announce_end(why);
    if (run_->ledger->head().state != LedgerState::failed)
        run_->ledger->fail(fmt::format("{} takes no more rows ({})", run_->path(), why));
    ending_.reset();
}

// Without the node that completes the file no other does so; what others have finished can be completed without them.
void NodeRun::abandon() {
    if (!ending_ || run_->node->first_living() == run_->node->which.node)
        run_->node->announce_end("its run was abandoned");
}

CompleteResult NodeRun::complete_for_all() {
    auto const fail_completion = [&](std::string const& why) {
        base::fail_system(
            {fmt::format("{} cannot be completed by {}", run_->path(), name_of_node(run_->node->which.node)), why});
    };
    auto const places = places_of_run(run_->path());
    Journals journals;
    for (auto const& place : places) {
        bool const is_first = place.node().node == 0; // in which it will say that the file is complete
        bool const is_own = place.node().node == run_->node->which.node;
        journals.push_back(
            is_own ? journal_
                   : place.open_journal(is_first ? storage::OpenMode::read_write : storage::OpenMode::read_only));
    }
    auto const dead = run_->node->rules.goes_on ? run_->node->parts.dead_nodes() : std::vector<std::uint32_t>{};
    CompleteOptions options;
    options.state = dead.empty() ? RunState::closing : RunState::ended;
    options.whole_file_checksum = whole_file_checksum_;
    options.is_alone = [&] { return run_->node->superseded_in_completion().empty(); };
    if (places.empty()) fail_completion("its journals were taken away");
    options.before_metadata = [&](std::uint64_t end) {
        use_rooms(places, *run_->file, end);
        // Behind that: a process that recovers the run from now on knows where we write.
        if (auto const why = run_->node->superseded_in_completion(); !why.empty()) fail_completion(why);
    };
    // A node that was only taken for dead may still write in the regions that it has.
    if (auto const taken = run_->node->parts.regions(); !dead.empty() && !taken.empty())
        options.least_end = run_->node->plan.region(taken.back()).end;
    auto result = complete_run(*run_->file, journals, *run_->format, options);
    note_dead(dead, run_->node->parts, result.report);
    if (auto const problem = watch_->problem(); !problem.empty()) base::fail_system({problem});
    // For those nodes that look before the folder is gone; all others read it from the file.
    run_->node->parts.announce(kComplete, summary_of(result));
    run_->ledger->head().state = LedgerState::closed;
    ending_.reset(); // its last beat, before the folder goes
    remove_journals({RunPlace(run_->path(), run_->node->which)}, {journal_}, run_->head.id);
    return result;
}

// What the first node says, which has the whole report, or the file.
CompleteResult NodeRun::completed_by_another() {
    auto result = ending_->summary() ? result_of(*ending_->summary()) : result_of_file(*run_->file, *run_->format);
    if (!result || run_->format->run_id_of(*run_->file) != run_->head.id) {
        base::fail_system({run_->path() + " is not complete", "its journals were taken away while this node waited",
                           "put them back, and recover it"});
    }
    ending_.reset();
    run_->ledger->head().state = LedgerState::closed;
    remove_memory(run_->head.id, {run_->ledger->head().memory_folder}, run_->node->which.node);
    result->path = run_->path();
    result->file_bytes = run_->file->size();
    result->report.settled = true;
    return *result;
}

} // namespace thalweg::dataset
