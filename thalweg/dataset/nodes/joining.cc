#include "thalweg/dataset/nodes/joining.h"

#include <cerrno>
#include <filesystem>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/begin/creation.h"
#include "thalweg/dataset/begin/resumption.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kGivenUpNs = 5'000'000'000; // how long to wait for a new run if one was given up

// Returns nothing if another process was faster, or if the run is gone again.
std::optional<BegunRun> try_join(RunPlace const& place, FirstNode const& first, JoinOptions const& options,
                                 Deadline& deadline) {
    BegunRun begun;
    auto& run = *begun.run;
    try {
        begun.files = place.open_journal(storage::OpenMode::create_new);
    } catch (base::SystemError const& error) {
        if (error.code == EEXIST || error.code == ENOENT) return std::nullopt;
        throw;
    }
    try {
        run.journal_lock = place.lock_shared();
        open_joined(begun, place, first.head, options);
        begin_joined(begun, place);
        watch_part(begun, place);
        if (wait_until_begun(run, deadline)) {
            take_rules(begun, place);
            return begun;
        }
    } catch (std::exception const& error) {
        if (run.node && !run.node->parts.announced(kBegun)) run.node->announce_failure(error.what());
        remove_traces(run, place, error.what());
        throw;
    }
    remove_traces(run, place, "it has waited in vain");
    deadline.shorten(kGivenUpNs);
    return std::nullopt;
}

} // namespace

void begin_as_first(BegunRun& begun, CreateOptions const& options, format::Format const& format) {
    auto& run = *begun.run;
    static_cast<void>(begin_file(begun, options, format));
    NodeOfRun const which{0, options.nodes.nodes};
    run.node = share_of(run, which, options.nodes.timeout_ns, begun.tuning.commit.flush_interval_ns);
    run.node->rules = options.nodes.rules;
    run.file->sync(); // for the nodes that find the journal
    auto const fallback = memory_of_new(begun, options, options.shared);
    begin_journal(begun, fallback, options.journal, which);
    make_ledger(begun, fallback, options.shared, 0); // nothing can be claimed until it has a region
    meet_as_first(run, options.nodes);
    run.keys = shared_keys(run.node->parts, which.node, run.node->rules);
}

BegunRun join_run(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    Deadline deadline(options.timeout_ns, options.while_waiting);
    while (true) {
        auto const first = wait_for_first(path, node, options, deadline);
        auto begun = try_join({path, {node, first.which.nodes}}, first, options, deadline);
        if (begun) return *std::move(begun);
    }
}

void open_joined(BegunRun& begun, RunPlace const& place, model::RunHead const& head, JoinOptions const& options) {
    auto& run = *begun.run;
    run.while_waiting = options.while_waiting;
    run.format = &format_for(place.data());
    run.head = head;
    begun.tuning = in_effect(tuning_of_resumed(place.data(), head, *run.format, {}, {}), *run.format, place.data(),
                             place.node().nodes);
    run.options = begun.tuning.write;
    run.file = storage::open_file_storage(place.data(), storage::OpenMode::read_write, begun.tuning.write.engine);
    run.node = share_of(run, place.node(), options.timeout_ns, begun.tuning.commit.flush_interval_ns);
    check_pair(*run.file, *run.format, head);
    run.head.knobs = tuning::texts(begun.tuning);
    run.head.engine = run.file->engine();
}

void begin_joined(BegunRun& begun, RunPlace const& place) {
    auto const fallback = memory_fallback(place.data());
    begun.journal = JournalWriter::begin(
        begun.files, add_memory_folder(model::to_json(begun.run->head), fallback.folder), data_file_at(place.data()),
        fit_to_budget({}, begun.tuning.commit.rows_budget_bytes), place.node());
    make_ledger(begun, fallback, true, 0);
}

void watch_part(BegunRun& begun, RunPlace const& place) {
    begun.watch = std::make_shared<FileWatch>(place.data(), place.journal());
    begun.run->node->parts.sync();
}

void take_rules(BegunRun& begun, RunPlace const& place) {
    auto& run = *begun.run;
    run.node->rules = rules_of(place.parts());
    run.keys = shared_keys(place.parts(), place.node().node, run.node->rules);
}

} // namespace thalweg::dataset
