// An unfinished run goes on in the same file, after everybody who wrote it has died.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/resuming.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/format/format.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

struct CreateOptions;
struct UnfinishedRun;

// Knobs that are `given`, or differ from their defaults, are those of `asked`; all others are what the run had. Throws
// base::UsageError where one is given otherwise that cannot change in a run.
tuning::Tuning tuning_of_resumed(std::string const& path, model::RunHead const& head, format::Format const& format,
                                 tuning::Tuning const& asked, std::set<std::string> const& given);

// Puts into the journal what a later close, which checks no page any more, has to know: pages that are damaged, units
// that do not count, an end for every producer whose memory is gone, and the knobs that count from now on. `own`: the
// producers of that journal. `lost`: sentences of what is gone, for the report of the run.
void journal_what_is_left(Gathered const& gathered, ProducersOfNode const& own, JournalWriter& journal,
                          std::vector<std::string> const& lost = {});

// Throws base::UsageError where it is a copy, or where what is given is not that of the run.
void check_resumed(UnfinishedRun const& unfinished, std::optional<model::Schema> const& schema,
                   CreateOptions const& options);

// Of several nodes: throws base::UsageError where regions would lie elsewhere with the knobs of `head`.
void check_same_regions(UnfinishedRun const& unfinished, model::RunHead const& head);
// What is left goes into the journals of the other nodes, too.
void journal_for_others(UnfinishedRun const& unfinished, Gathered const& gathered);

// From here on extents may be claimed: behind everything that the journal, or an anchor, refers to.
std::uint64_t first_free_offset(Gathered const& gathered, storage::Storage const& file, format::Format const& format,
                                std::uint64_t claimed);

// The keys of the units that count are taken, and those of earlier files.
void take_keys(std::vector<UnitKey> const& keys, std::vector<UnitKey> const& earlier, Ledger& ledger);
// The same of groups of units, in a run that is ordered by key.
void take_groups(std::vector<UnitFacts> const& groups, std::vector<UnitKey> const& earlier, model::RunHead const& head,
                 Ledger& ledger);

// What interim footers will show in front of all that is new.
using TableCluster = std::pair<std::size_t, format::ClusterPages>;
std::vector<TableCluster> clusters_so_far(Gathered const& gathered);

} // namespace thalweg::dataset
