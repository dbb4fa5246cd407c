#include "thalweg/dataset/begin/begun_run.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/commit/disk_share.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/storage/probe.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {

JournalLimits fit_to_budget(JournalLimits limits, std::uint64_t rows_budget_bytes) {
    limits.main_rows_bytes = std::min(limits.main_rows_bytes, rows_budget_bytes / 2);
    limits.segment_bytes = std::min(limits.segment_bytes, rows_budget_bytes / 2);
    limits.slack_bytes = std::min(limits.slack_bytes, rows_budget_bytes * 3 / 2);
    return limits;
}

tuning::Tuning in_effect(tuning::Tuning tuning, format::Format const& format, std::string const& path,
                         std::uint32_t nodes) {
    tuning.layout = format.with_own_values(tuning.layout);
    if (path.empty()) return tuning;
    fit_to_disk_of(path, nodes, tuning.commit, tuning.write.staging);
    fit_to_shared_memory(storage::space_of("/dev/shm").free_bytes, tuning.write.staging);
    return tuning;
}

std::uint64_t begin_file(BegunRun& begun, CreateOptions const& options, format::Format const& format) {
    auto& run = *begun.run;
    run.format = &format;
    run.while_waiting = options.nodes.while_waiting;
    begun.tuning = in_effect(static_cast<tuning::Tuning const&>(options), format, begun.watch ? run.path() : "",
                             options.nodes.nodes);
    run.options = begun.tuning.write;
    run.head.knobs = tuning::texts(begun.tuning);
    run.head.engine = run.file->engine();
    return format.begin(*run.file, run.head);
}

base::MemoryFallback memory_of_new(BegunRun const& begun, CreateOptions const& options, bool shared,
                                   Ledger const* before) {
    if (!shared) return {};
    return before != nullptr ? memory_fallback_of(before->head())
                             : memory_fallback(begun.run->path(), options.memory_folder);
}

void begin_journal(BegunRun& begun, base::MemoryFallback const& fallback, JournalLimits const& limits,
                   NodeOfRun const& node) {
    THALWEG_ASSERT(!begun.journal, "a journal begins once");
    auto& run = *begun.run;
    auto const data_file = begun.watch ? data_file_at(run.path()) : DataFile{};
    begun.journal = JournalWriter::begin(begun.files, add_memory_folder(model::to_json(run.head), fallback.folder),
                                         data_file, fit_to_budget(limits, begun.tuning.commit.rows_budget_bytes), node);
}

void make_ledger(BegunRun& begun, base::MemoryFallback const& fallback, bool shared, std::uint64_t first_offset,
                 Ledger const* before) {
    THALWEG_ASSERT(begun.journal.has_value(), "the memory of a run is made behind the beginning of its journal");
    auto& run = *begun.run;
    run.ledger =
        Ledger::create(run.head.id, run.path(), shared, first_offset, fallback,
                       before != nullptr ? before->series() : nullptr, run.node ? run.node->which : NodeOfRun{});
    if (shared) run.memory_lock = hold_memory(run.ledger->name());
    run.ledger->head().knobs = tuning::pack(begun.tuning);
}

void begin_alone(BegunRun& begun, CreateOptions const& options, format::Format const& format, bool shared,
                 Ledger const* before) {
    auto const first_offset = begin_file(begun, options, format);
    auto const fallback = memory_of_new(begun, options, shared, before);
    begin_journal(begun, fallback, options.journal);
    make_ledger(begun, fallback, shared, first_offset, before);
}

} // namespace thalweg::dataset
