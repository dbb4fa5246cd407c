// A run that has begun, or goes on: its file, its journal and its memory are there, and no process writes into it yet.
// A Writer takes it over from there. How a new run begins on one machine is here; how an unfinished one goes on is in
// resumption.h, and what several machines add to both is in dataset/nodes.
//
// A run begins in this order, so that whatever a crash leaves is recognised and cleared away:
//   1. the journal file, locked                     (its creator: Writer::create_at, joining.h, node_resumption.h)
//   2. the data file and what the format begins with   begin_file
//   3. the head of the journal, durable                begin_journal
//   4. the ledger, in shared memory                    make_ledger
//   5. the committer's thread                          Writer
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/dataset/begin/options.h"
#include "thalweg/dataset/commit/file_watch.h"
#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/format/format.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

using TableCluster = std::pair<std::size_t, format::ClusterPages>; // with the number of its table

struct BegunRun {
    std::shared_ptr<OpenRun> run = std::make_shared<OpenRun>();
    JournalFiles files;                     // of the journal
    std::optional<JournalWriter> journal;   // from step 3 on
    tuning::Tuning tuning;                  // in effect
    std::shared_ptr<FileWatch const> watch; // only if the file has a name
    std::vector<TableCluster> clusters;     // of a resumed run: interim footers show these in front of all that is new
    std::uint64_t earlier_rows = 0;         // of a resumed run: that it had then
    PageCounts counts;                      // of a resumed run: what the metadata will need for what is there already
};

// Returns what the run is written with by one of `nodes`, which is not always what was asked for. `path`: empty if the
// file has no name.
tuning::Tuning in_effect(tuning::Tuning tuning, format::Format const& format, std::string const& path,
                         std::uint32_t nodes);

// Returns the limits of a journal on a small disk, where the budget of rows was lowered: it takes less, too.
JournalLimits fit_to_budget(JournalLimits limits, std::uint64_t rows_budget_bytes);

// Step 2 of a new run. Returns where the first extent may lie. It is durable with the first BARRIER: until then
// `recover` writes it again.
std::uint64_t begin_file(BegunRun& begun, CreateOptions const& options, format::Format const& format);

// Returns where the memory of a new run may lie. `before`: the ledger of the run that this one continues.
base::MemoryFallback memory_of_new(BegunRun const& begun, CreateOptions const& options, bool shared,
                                   Ledger const* before = nullptr);

// Step 3.
void begin_journal(BegunRun& begun, base::MemoryFallback const& fallback, JournalLimits const& limits,
                   NodeOfRun const& node = {});

// Step 4.
void make_ledger(BegunRun& begun, base::MemoryFallback const& fallback, bool shared, std::uint64_t first_offset,
                 Ledger const* before = nullptr);

// Steps 2 to 4 of a new run on one machine.
void begin_alone(BegunRun& begun, CreateOptions const& options, format::Format const& format, bool shared,
                 Ledger const* before = nullptr);

} // namespace thalweg::dataset
