// A run that several nodes write: how one of them comes to it, and how it ends.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/creation.h"
#include "thalweg/dataset/resume.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kGivenUpNs = 5'000'000'000; // to wait for a new run where one was given up

// What all nodes are told of the file that the first one has completed.
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

// Of nodes without which the others have gone on.
void note_dead(std::vector<std::uint32_t> const& dead, PartsFolder const& parts, RunReport& report) {
    for (auto const node : dead) {
        auto const why = parts.announced(dead_name(node)).value_or("nobody knows why");
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

std::unique_ptr<Writer> Writer::join(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    auto const absolute = std::filesystem::absolute(path).lexically_normal().string();
    static_cast<void>(format_for(absolute));
    if (options.resume) return return_to(absolute, node, options);
    Deadline deadline(options.timeout_ns, options.while_waiting);
    while (true) {
        auto const first = wait_for_first(absolute, node, options, deadline);
        if (auto writer = try_join({absolute, {node, first.which.nodes}}, first, options, deadline)) return writer;
    }
}

// None where another one was faster, or the run is gone again.
std::unique_ptr<Writer> Writer::try_join(RunPlace const& place, FirstNode const& first, JoinOptions const& options,
                                         Deadline& deadline) {
    std::unique_ptr<Writer> writer(new Writer);
    writer->run_ = std::make_shared<OpenRun>();
    auto& run = *writer->run_;
    run.while_waiting = options.while_waiting;
    try {
        writer->journal_ = place.open_journal(storage::OpenMode::create_new);
    } catch (base::SystemError const& error) {
        if (error.code == EEXIST || error.code == ENOENT) return nullptr;
        throw;
    }
    try {
        run.journal_lock = place.lock_shared();
        writer->start_joined(place, first, options);
        if (wait_until_begun(run, deadline)) {
            run.node->rules = rules_of(place.parts());
            run.keys = shared_keys(place.parts(), place.node().node, run.node->rules);
            // From the head, since the ledger has only what reaches every process.
            auto const tuning = tuning_of_resumed(place.data(), run.head, *run.format, {}, {});
            writer->start_committer(std::move(*writer->joined_journal_), tuning.commit);
            writer->joined_journal_.reset();
            return writer;
        }
    } catch (std::exception const& error) {
        if (run.node && !run.node->parts.announced(kBegun)) run.node->announce_failure(error.what());
        remove_traces(run, place, error.what());
        throw;
    }
    remove_traces(run, place, "it has waited in vain");
    deadline.shorten(kGivenUpNs);
    return nullptr;
}

tuning::Tuning Writer::open_joined(RunPlace const& place, model::RunHead const& head, std::uint64_t timeout_ns) {
    run_->format = &format_for(place.data());
    run_->head = head;
    fork_generation_ = base::fork_generation();
    on_files_ = true;
    auto tuning = in_effect(tuning_of_resumed(place.data(), head, *run_->format, {}, {}), *run_->format, place.data());
    run_->options = tuning.write;
    run_->file = storage::open_file_storage(place.data(), storage::OpenMode::read_write, tuning.write.engine);
    run_->node = share_of(*run_, place.node(), timeout_ns, tuning.commit.flush_interval_ns);
    check_pair(*run_->file, *run_->format, head);
    whole_file_checksum_ = tuning.whole_file_checksum;
    run_->head.knobs = tuning::texts(tuning);
    run_->head.engine = run_->file->engine();
    return tuning;
}

void Writer::watch_part(RunPlace const& place) {
    watch_ = std::make_shared<FileWatch>(place.data(), place.journal());
    run_->node->parts.sync();
}

void Writer::start_joined(RunPlace const& place, FirstNode const& first, JoinOptions const& options) {
    auto const tuning = open_joined(place, first.head, options.timeout_ns);
    begin_joined(place, tuning);
    watch_part(place);
}

// Of a node that has no journal yet.
void Writer::begin_joined(RunPlace const& place, tuning::Tuning const& tuning) {
    auto const fallback = memory_fallback(place.data());
    joined_journal_ =
        JournalWriter::begin(journal_, add_memory_folder(model::to_json(run_->head), fallback.folder),
                             base::identity_of(place.data()).value_or(base::FileIdentity{}), {}, place.node());
    make_ledger(tuning, fallback, true, 0);
}

std::map<std::uint32_t, std::string> Writer::dead_nodes() const {
    std::map<std::uint32_t, std::string> dead;
    if (!run_->node || !run_->node->rules.goes_on) return dead;
    auto const& parts = run_->node->parts;
    for (auto const node : parts.dead_nodes())
        dead[node] = parts.announced(dead_name(node)).value_or("nobody knows why");
    return dead;
}

void Writer::finish_part() {
    auto journal = committer()->finish();
    drop_committer();
    if (!added_metadata_.empty()) {
        journal.append_json(RecordType::metadata, nlohmann::json(added_metadata_).dump());
        journal.sync();
    }
    if (auto const problem = file_problem(); !problem.empty()) base::fail_system({problem});
    if (run_->ledger->head().state == LedgerState::failed)
        base::fail_system({run_->ledger->head().failure, "", rows_are_safe(path())});
    // Behind the last sync of its journal: whoever completes the file from now on reads all of it.
    if (auto const problem = run_->node->superseded(); !problem.empty())
        base::fail_system({fmt::format("{} cannot be closed by this node", path()), problem});
    ending_ = std::make_unique<NodeEnding>(*run_->node, path());
}

CompleteResult Writer::close_with_others(std::uint64_t end_ns) {
    try {
        if (!ending_) finish_part();
        while (true) {
            ending_->check();
            if (ending_->is_over()) return completed_by_another();
            if (ending_->is_to_complete()) return complete_for_all();
            if (base::monotonic_ns() >= end_ns) {
                auto const unfinished = ending_->unfinished();
                base::fail_system({fmt::format("{} cannot be closed yet", path()),
                                   unfinished.empty() ? name_of_node(run_->node->first_living()) + " is completing it"
                                                      : names_of(unfinished) + " still writes",
                                   "close it on all nodes"},
                                  ETIMEDOUT);
            }
            ending_->pause();
        }
    } catch (std::exception const& error) {
        auto const* const system = dynamic_cast<base::SystemError const*>(&error);
        if (ending_ && system != nullptr && system->code == ETIMEDOUT) throw; // the run stays open
        ended_ = true;
        // Once one completes the file nobody can do so after it.
        ending_ ? run_->node->announce_failure(error.what()) : run_->node->announce_end(error.what());
        if (run_->ledger->head().state != LedgerState::failed)
            run_->ledger->fail(fmt::format("{} takes no more rows ({})", path(), error.what()));
        ending_.reset();
        give_up_lock();
        throw;
    }
}

CompleteResult Writer::complete_for_all() {
    auto const fail_completion = [&](std::string const& why) {
        base::fail_system(
            {fmt::format("{} cannot be completed by {}", path(), name_of_node(run_->node->which.node)), why});
    };
    auto const places = places_of_run(path());
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
        // Behind that: whoever recovers the run from now on knows where we write.
        if (auto const why = run_->node->superseded_in_completion(); !why.empty()) fail_completion(why);
    };
    // One that was only taken for dead may still write in the regions that it has.
    if (auto const taken = run_->node->parts.regions(); !dead.empty() && !taken.empty())
        options.least_end = run_->node->plan.region(taken.back()).end;
    auto result = complete_run(*run_->file, journals, *run_->format, options);
    note_dead(dead, run_->node->parts, result.report);
    if (auto const problem = file_problem(); !problem.empty()) base::fail_system({problem});
    // For those who look before the folder is gone; all others read it from the file.
    run_->node->parts.announce(kComplete, summary_of(result));
    ended_ = true;
    run_->ledger->head().state = LedgerState::closed;
    ending_.reset(); // its last beat, before the folder goes
    remove_journals({RunPlace(path(), run_->node->which)}, {journal_}, run_->head.id);
    return result;
}

// What the first node says, who has the whole report, or the file.
CompleteResult Writer::completed_by_another() {
    auto result = ending_->summary() ? result_of(*ending_->summary()) : result_of_file(*run_->file, *run_->format);
    if (!result || run_->format->run_id_of(*run_->file) != run_->head.id) {
        base::fail_system({path() + " is not complete", "its journals were taken away while this node waited",
                           "put them back, and recover it"});
    }
    ended_ = true;
    ending_.reset();
    run_->ledger->head().state = LedgerState::closed;
    remove_memory(run_->head.id, {run_->ledger->head().memory_folder}, run_->node->which.node);
    result->path = path();
    result->file_bytes = run_->file->size();
    result->report.settled = true;
    return *result;
}

} // namespace thalweg::dataset
