// An unfinished run goes on in the same file, after all processes that wrote it have died.
//
// States, and what moves them on. A crash in any of them leaves a run that can be resumed, or recovered, again:
//
//     taken over   `UnfinishedRun` (complete/take_over.h): its journals say all that is known about the run.
//        |         Resumption(): reads them, and refuses a run that is complete or goes on in another file. Nothing is
//        v         changed yet.
//     gathered     What rows and units there are, and what the run is written with from now on.
//        |         keep_what_is_there(): all of it becomes durable; the journal says what a later close, which checks
//        v         no page any more, has to know.
//     kept
//        |         open_again(): the file with the engine that is asked for, the journal, and no old memory.
//        v
//     open         New extents lie from first_free_offset() on.
//        |         make_memory(): a new ledger, in which no number of a producer is used again and the keys of all
//        v         units that count are taken.
//     going on     `BegunRun`
//
// If the run is of several nodes, the first one does this (dataset/nodes/node_resumption.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thalweg/dataset/begin/begun_run.h"
#include "thalweg/dataset/begin/resumed_run.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/journal/unit_key.h"
#include "thalweg/format/format.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

// Returns the knobs of a run that goes on: those that are `given`, or differ from their defaults, are those of `asked`;
// all others are what the run had. Throws base::UsageError if one is given otherwise that cannot change in a run.
tuning::Tuning tuning_of_resumed(std::string const& path, model::RunHead const& head, format::Format const& format,
                                 tuning::Tuning const& asked, std::set<std::string> const& given);

// Throws base::UsageError if it is a copy, or if what is given is not that of the run.
void check_resumed(UnfinishedRun const& unfinished, std::optional<model::Schema> const& schema,
                   CreateOptions const& options);

class Resumption {
  public:
    // Throws base::UsageError if the run is complete, or goes on in another file.
    Resumption(UnfinishedRun unfinished, CreateOptions const& options);

    UnfinishedRun const& unfinished() const { return unfinished_; }
    Gathered const& gathered() const { return gathered_; }
    ResumedRun const& resumed() const { return resumed_; }

    void keep_what_is_there();
    BegunRun open_again();
    // From here on extents may be claimed: behind everything that the journal, or an anchor, refers to.
    std::uint64_t first_free_offset(BegunRun const& begun) const;
    void make_memory(BegunRun& begun, std::uint64_t first_offset) const;
    // What interim footers and the metadata will have in front of all that is new.
    void count_what_is_there(BegunRun& begun) const;

  private:
    void take_keys_of_units(Ledger& ledger) const;

    UnfinishedRun unfinished_;
    JournalLimits limits_;
    std::function<void()> while_waiting_;
    Gathered gathered_;
    std::vector<UnitKey> earlier_; // the keys of the files that this one continues
    tuning::Tuning tuning_;
    std::unique_ptr<storage::Storage> file_;
    ResumedRun resumed_;
    std::optional<JournalWriter> journal_; // from keep_what_is_there() on
};

// A run that one machine writes. Throws base::UsageError if there is no unfinished run, or as the above do.
BegunRun resume_alone(std::string const& path, std::optional<model::Schema> const& schema,
                      CreateOptions const& options);

std::uint64_t first_free_offset(Gathered const& gathered, storage::Storage const& file, format::Format const& format,
                                std::uint64_t claimed);

// Takes the keys of the units that count, and those of earlier files.
void take_keys(std::vector<UnitKey> const& keys, std::vector<UnitKey> const& earlier, Ledger& ledger);
// The same for groups of units, in a run that is ordered by key.
void take_groups(std::vector<UnitFacts> const& groups, std::vector<UnitKey> const& earlier, model::RunHead const& head,
                 Ledger& ledger);

std::vector<TableCluster> clusters_so_far(Gathered const& gathered);

} // namespace thalweg::dataset
