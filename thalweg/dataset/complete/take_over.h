// Takes over what is left of an unfinished run: `recover` completes it then, and `Writer::resume` goes on with it.
//
// States, and what moves them on:
//
//     left        Journals lie beside the file, or in the folder of parts. Processes of the run may be alive.
//        |        take_over: opens each journal once, locked: refused while a participant of the run on this machine
//        v        holds it. Machines that this one cannot ask must have said that they are finished, or the caller says
//                 that all nodes are down.
//     locked      No process on this machine writes the run, and none can begin to.
//        |        take_over: a journal that was never more than begun is cleared away, and is an error. The file
//        v        must be of the same run as the journals.
//     checked     File and journals belong together.
//        |        take_over: looks at the disk, since the kernel may have kept what it could not write.
//        v
//     seen        What is read from here on is on the disk.
//        |        take_over: what producers had published in shared memory is appended to the journal of their node. A
//        v        SETTLED record follows if that is all, and a sync.
//     taken over  `UnfinishedRun`. Its journals say all that is known about the run.
//
// Invariants:
//
//  1. Each journal is opened and its beginning is read once: `UnfinishedRun` hands both on.
//  2. Nothing is appended to a journal before its lock is held and the file is known to be of its run.
//  3. Memory of producers is removed only by the caller, once the file is complete or the run goes on: a take-over that
//     fails (a full disk) can be repeated.
//  4. The memory belongs to the original. A copy of file and journal never touches it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/format/format.h"

namespace thalweg::dataset {

// An unfinished run that this process has taken over. `places`, `journals` and `locks` have one entry for each node
// that has a journal, in the order of the nodes.
struct UnfinishedRun {
    std::vector<RunPlace> places;
    Journals journals;
    std::vector<base::FileDescriptor> locks; // exclusive
    model::RunHead head;
    format::Format const* format = nullptr;
    std::unique_ptr<storage::Storage> file;
    bool is_original = true;   // not a copy
    bool has_memory = false;   // what the producers of all nodes had published is in the journals now
    std::uint64_t claimed = 0; // extents may have been claimed up to here
    std::vector<std::string> notes;

    RunPlace const& place() const { return places.front(); } // of the first node, or of the part that was taken over
};

// `all_nodes_are_down`: the caller knows that no machine writes the run any more, which this machine cannot ask.
// Throws base::UsageError if there is nothing to take over or if the run is still being written, and base::DataError if
// file and journal do not belong together. Waits for writes that killed processes have left with the kernel.
UnfinishedRun take_over(std::string const& path, char const* verb, bool all_nodes_are_down = false);

// Takes over the part of one node, on the machine of that node. The journals of the others are not touched.
UnfinishedRun take_over_part(RunPlace const& place, char const* verb);

// Makes the journal of the first place durable. It stays in use: what is written behind its beginning must not outlive
// that beginning, which killed processes or another machine may not have synced. `take_over_part` has done so.
void make_journal_durable(UnfinishedRun const& run);

// Returns sentences about rows that were in memory alone and are gone. If there are any, rows may be missing.
std::vector<std::string> lost_with_memory(UnfinishedRun const& run, RunReport const& report);

} // namespace thalweg::dataset
