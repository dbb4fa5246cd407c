#include "thalweg/dataset/nodes/node_run.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/missing_part.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/part_of_dead.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kUntilSeenNs = 2'000'000'000;   // that the file is complete
constexpr char const* kNoReason = "no reason is known"; // its announcement has no text

// What all nodes are told about the file that the first one has completed.
std::string summary_of(CompleteResult const& result) {
    nlohmann::json summary{{"units", result.report.units},
                           {"adler32", result.adler32},
                           {"notes", result.report.notes},
                           {"rows_may_be_missing", result.report.rows_may_be_missing}};
    for (auto const& table : result.report.tables) summary["tables"].push_back({table.table, table.rows});
    return summary.dump();
}

std::optional<CompleteResult> result_of(std::string const& summary) {
    auto const json = nlohmann::json::parse(summary, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    CompleteResult result;
    result.report.units = json.at("units");
    result.adler32 = json.value("adler32", 0u);
    result.report.notes = json.value("notes", std::vector<std::string>{});
    result.report.rows_may_be_missing = json.value("rows_may_be_missing", false);
    for (auto const& table : json.at("tables")) result.report.tables.push_back({.table = table[0], .rows = table[1]});
    return result;
}

// Opens it anew: what this machine keeps of it may be from before its completion.
std::optional<CompleteResult> result_of_file(OpenRun const& run) try {
    auto const file = storage::open_file_storage(run.path(), storage::OpenMode::read_only, storage::Engine::posix);
    if (run.format->run_id_of(*file) != run.head.id) return std::nullopt;
    auto const map = run.format->load(*file);
    if (!map.closed) return std::nullopt;
    CompleteResult result;
    result.report.units = decode_units(map.units).size();
    for (std::size_t i = 0; i < map.tables.size(); ++i)
        result.report.tables.push_back({.table = map.head.schema.tables[i].name, .rows = map.tables[i].rows});
    return result;
} catch (base::DataError const&) {
    return std::nullopt;
} catch (base::SystemError const& error) {
    if (error.code != ENOENT && error.code != ENODATA && error.code != ESTALE) throw;
    return std::nullopt;
}

// Notes the nodes without which the others have gone on.
void note_dead(std::vector<std::uint32_t> const& dead, PartsFolder const& parts, RunReport& report) {
    for (auto const node : dead) {
        auto const why = parts.announced(dead_name(node)).value_or(kNoReason);
        auto const found = std::ranges::find(report.nodes, node, &NodeReport::node);
        bool const has_all = found != report.nodes.end() && found->settled;
        auto const rows = found != report.nodes.end() ? found->rows : 0;
        report.notes.push_back(
            fmt::format("the others went on without {} ({}): {}", name_of_node(node), why,
                        has_all ? "all that it had appended is there"
                                : fmt::format("the file has {} of its rows; what its last flush had not made durable "
                                              "is missing, and it is not known how many rows that is",
                                              rows)));
        report.rows_may_be_missing = report.rows_may_be_missing || !has_all;
    }
}

// What a node that has finished says of its part is not what this machine sees of it.
class PartIsMissing {};

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

void NodeRun::finish(FinishedPart const& part) {
    THALWEG_ASSERT(!ending_, "a node finishes its part once");
    if (auto const problem = watch_->problem(); !problem.empty()) base::fail_system({problem});
    auto const& head = run_->ledger->head();
    if (head.state == LedgerState::failed) base::fail_system({head.failure, "", run_->node->advice(run_->path())});
    // Behind the last sync of its journal: a node that completes the file from now on reads all of it.
    if (auto const problem = run_->node->superseded(); !problem.empty())
        base::fail_system(
            {fmt::format("{} cannot be closed by this node", run_->path()), problem, run_->node->advice(run_->path())});
    ending_ = std::make_unique<NodeEnding>(*run_->node, run_->path(), part);
}

CompleteResult NodeRun::complete(std::uint64_t end_ns) {
    THALWEG_ASSERT(ending_ != nullptr, "a node completes the file behind its own part");
    while (true) {
        auto const next = ending_->next();
        if (next == NodeEnding::Next::over) return completed_by_another();
        if (next == NodeEnding::Next::complete) return complete_for_all(end_ns);
        if (base::monotonic_ns() >= end_ns)
            base::fail_system(
                {fmt::format("{} cannot be closed yet", run_->path()), ending_->waits_for(), "close it on all nodes"},
                ETIMEDOUT);
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

void NodeRun::fail_completion(std::string const& why) const {
    base::fail_system({fmt::format("{} cannot be completed by {}", run_->path(), name_of_node(run_->node->which.node)),
                       why, run_->node->advice(run_->path())});
}

// Nothing but a recovery, which was told that this node is down, removes the folder of a run that a node completes.
void NodeRun::fail_recovered_meanwhile() const {
    auto const& path = run_->path();
    base::fail_system({fmt::format("{} cannot be closed by {}", path, name_of_node(run_->node->which.node)),
                       "it was recovered by another process while this node was completing it",
                       fmt::format("`thalweg inspect {}` shows the rows that it has, and `thalweg verify {}` says "
                                   "whether it is sound",
                                   path, path)});
}

// A node that died on this machine has left what it had not flushed in memory that this process can read.
void NodeRun::journal_parts_of_dead() const {
    if (!run_->node->rules.goes_on) return;
    for (auto const& place : places_of_run(run_->path())) {
        auto const node = place.node().node;
        bool const is_dead = node != run_->node->which.node && run_->node->parts.has(dead_name(node));
        if (is_dead) static_cast<void>(journal_part_of_dead(place));
    }
}

CompleteResult NodeRun::complete_for_all(std::uint64_t end_ns) {
    FolderPause pause(run_->node->which.nodes);
    if (give_up_ns_ == 0) journal_parts_of_dead();
    if (give_up_ns_ == 0) give_up_ns_ = base::monotonic_ns() + run_->node->timeout_ns;
    while (true) {
        std::string missing;
        if (auto result = try_to_complete(missing)) return end_for_all(*std::move(result));
        if (base::monotonic_ns() >= give_up_ns_) fail_completion(missing);
        if (base::monotonic_ns() >= end_ns)
            base::fail_system({fmt::format("{} cannot be closed yet", run_->path()), missing, "close it again"},
                              ETIMEDOUT);
        pause.pause();
    }
}

// Opens the journals anew, which asks for what this machine may keep of them. Returns nothing, with the reason, if one
// is not seen yet.
std::optional<Journals> NodeRun::open_parts(std::vector<RunPlace> const& places, std::string& missing) const try {
    Journals journals;
    for (auto const& place : places) {
        bool const is_first = place.node().node == 0; // in which it will say that the file is complete
        bool const is_own = place.node().node == run_->node->which.node;
        journals.push_back(
            is_own ? journal_
                   : place.open_journal(is_first ? storage::OpenMode::read_write : storage::OpenMode::read_only));
        if (is_first && journals.back().start()->kind != JournalKind::journal)
            missing = fmt::format("the beginning of {} is not seen", place.journal());
    }
    // The same for what other nodes have written into the file.
    static_cast<void>(
        storage::open_file_storage(run_->path(), storage::OpenMode::read_only, storage::Engine::posix)->size());
    if (missing.empty()) return journals;
    return std::nullopt;
} catch (base::SystemError const& error) {
    if (error.code != ENOENT && error.code != ESTALE) throw;
    missing = error.what();
    return std::nullopt;
}

std::optional<CompleteResult> NodeRun::try_to_complete(std::string& missing) {
    auto const places = places_of_run(run_->path());
    if (places.empty()) fail_completion("its journals were taken away");
    auto const journals = open_parts(places, missing);
    if (!journals) return std::nullopt;
    auto const& share = *run_->node;
    auto const dead = share.rules.goes_on ? share.parts.dead_nodes() : std::vector<std::uint32_t>{};
    CompleteOptions options;
    options.state = dead.empty() ? RunState::closing : RunState::ended;
    options.whole_file_checksum = whole_file_checksum_;
    options.is_alone = [&] { return share.superseded_in_completion().empty(); };
    options.check_gathered = [&](Gathered const& gathered) {
        auto const all = missing_parts(share.parts, share.which.nodes, gathered);
        if (all.empty()) return;
        missing = fmt::format("{}; nothing was removed", fmt::join(all, "; "));
        throw PartIsMissing();
    };
    options.before_metadata = [&](std::uint64_t end) {
        use_rooms(places, *run_->file, end);
        // Behind that: a process that recovers the run from now on knows where we write.
        if (auto const why = share.superseded_in_completion(); !why.empty()) fail_completion(why);
    };
    // A node that was only taken for dead may still write in the regions that it has.
    if (auto const taken = share.parts.regions(); !dead.empty() && !taken.empty())
        options.least_end = share.plan.region(taken.back()).end;
    try {
        auto result = complete_run(*run_->file, *journals, *run_->format, options);
        note_dead(dead, share.parts, result.report);
        return result;
    } catch (PartIsMissing const&) {
        return std::nullopt;
    }
}

CompleteResult NodeRun::end_for_all(CompleteResult result) {
    if (auto const problem = watch_->problem(); !problem.empty()) base::fail_system({problem});
    // For those nodes that look before the folder is gone; all others read it from the file.
    try {
        run_->node->announce(kComplete, summary_of(result));
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) fail_recovered_meanwhile();
        if (!base::is_no_space(error.code)) throw;
    }
    run_->ledger->head().state = LedgerState::closed;
    ending_.reset(); // its last beat, before the folder goes
    // The memory goes first: while there is a journal, `recover` comes back for the rest.
    remove_memory_of(run_->head.id, RunPlace(run_->path(), run_->node->which), journal_);
    has_completed_ = true;
    return result;
}

void NodeRun::remove_journals_if_completed() {
    journal_ = {};
    watch_.reset();
    run_->journal_lock.reset();
    if (has_completed_) RunPlace(run_->path(), run_->node->which).remove_journal();
}

// What the first node says, which has the whole report, or the file.
CompleteResult NodeRun::completed_by_another() {
    std::optional<CompleteResult> result;
    for (auto const end_ns = base::monotonic_ns() + kUntilSeenNs; !result; ending_->pause()) {
        auto const in_file = result_of_file(*run_); // also if a summary was seen: the file has to be there
        if (in_file) result = ending_->summary() ? result_of(*ending_->summary()) : in_file;
        if (in_file && !result) result = in_file;
        if (result || base::monotonic_ns() < end_ns) continue;
        base::fail_system({run_->path() + " is not complete, as this machine sees it",
                           "its journals were taken away while this node waited",
                           "`thalweg inspect` it on the machine of node 1; if it is not complete there, put the "
                           "journals back, and recover it"});
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
