// The one function that makes a run's file complete: `close` ends with it, `recover` is it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/format/format.h"

namespace thalweg::dataset {

struct CompleteOptions {
    RunState state = RunState::ended;
    bool whole_file_checksum = true;
    std::uint64_t least_end = 0; // extents may have been claimed up to here
    // Somebody else may be completing the file, too: nothing behind its pages is ours to give back or to write over.
    bool is_beside_another = false;
    // Called when it is known from where on the file gets its metadata.
    std::function<void(std::uint64_t end_offset)> before_metadata = {};
    // Of who may not be alone in this: asked when the file is complete, which is cut to its length only then, and only
    // if nobody else has come.
    std::function<bool()> is_alone = {};
};

struct CompleteResult {
    RunReport report;
    std::string path;
    std::uint64_t file_bytes = 0;
    std::uint32_t adler32 = 0; // of the whole file, where asked for
    std::uint64_t gather_cpu_ns = 0;
    std::uint64_t complete_cpu_ns = 0;
};

// Journal -> facts -> metadata in the file -> CLOSED record. Can be repeated after any interruption; a file that is
// complete already stays as it is, but for what lies behind its end. The journal itself stays: removing it is the
// caller's last step.
CompleteResult complete_run(storage::Storage& file, Journals const& journals, format::Format const& format,
                            CompleteOptions const& options);
inline CompleteResult complete_run(storage::Storage& file, JournalFiles const& journal, format::Format const& format,
                                   CompleteOptions const& options) {
    return complete_run(file, Journals{journal}, format, options);
}

// What was joined, for the report.
void note_joined(format::Completed const& completed, RunReport& report);

// Throws base::DataError where the file is not of the run that the journal's head describes.
void check_pair(storage::Storage const& file, format::Format const& format, model::RunHead const& head);

// What another machine had not synced is there for us to read, and a sync on this one need not cover it: so it is
// written again first.
void write_again(storage::Storage& file, std::vector<KnownBytes> const& pages);

// Whether the file is complete, and of this run: the journal may not know it yet.
bool is_complete(storage::Storage const& file, format::Format const& format, model::RunHead const& head);

// Writes what a run begins with where a power cut may have taken it, or where the file is a copy, which may be older
// than its journal: a BARRIER in that says nothing of it.
void begin_again(storage::Storage& file, format::Format const& format, Gathered const& gathered, RunState state);

struct RecoverOptions {
    // Of a run of several nodes: nobody writes it any more, although other machines than this one did, of which this
    // one cannot know.
    bool all_nodes_are_down = false;
};

// Completes the run at `path` after a crash: takes what is left in shared memory, completes the file, removes the
// journal and the segments. Throws base::UsageError where there is nothing to recover or the run is still being
// written, base::DataError where file and journal do not belong together.
CompleteResult recover(std::string const& path, RecoverOptions const& options = {});

// What is left of an unfinished run, taken over by this process.
struct UnfinishedRun {
    RunPlace place;                          // of the first node, or of the one whose part it is
    std::vector<base::FileDescriptor> locks; // exclusive
    Journals journals;
    model::RunHead head;
    format::Format const* format = nullptr;
    std::unique_ptr<storage::Storage> file;
    bool is_original = true;   // not a copy
    bool has_memory = false;   // what its producers had published is in the journals now: of all nodes
    std::uint64_t claimed = 0; // extents may have been claimed up to here
    std::vector<std::string> notes;
};

// Throws as `recover` does. Waits for what killed processes have left on its way to the disk.
UnfinishedRun take_over(std::string const& path, char const* verb, RecoverOptions const& options = {});
// The part of one of several nodes, on the machine of that node. The journals of the others are not touched.
UnfinishedRun take_over_part(RunPlace const& place, char const* verb);
// Of the one that took it over, whose journal stays: what is written behind it must not outlive its beginning, which
// killed processes, or another machine, may not have come to sync. `take_over_part` has done so.
void make_journal_durable(UnfinishedRun const& run);

// Sentences of what was in memory alone and is gone: where there are any, rows may be missing.
std::vector<std::string> lost_with_memory(UnfinishedRun const& run, RunReport const& report);

// Removes the journals of a run, durably, and its shared memory on this machine.
void remove_journals(std::vector<RunPlace> const& places, std::string const& run_id);

} // namespace thalweg::dataset
