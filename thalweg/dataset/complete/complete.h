// Makes the file of a run complete. `Writer::close` ends with `complete_run`, and `recover` calls it on the journal of
// a run whose processes are gone.
//
// States of the file, and what moves it on:
//
//     begun       It has what every run begins with, and pages. Its journal is the run.
//        |        complete_run: gather() turns the journal into facts; the format writes the metadata behind all pages
//        v        and syncs.
//     described   The metadata is durable, and no reader looks for it yet.
//        |        complete_run: the format makes the last write (HDF5: the superblock; RNTuple: the anchors, a sync,
//        and v        the first sector) and syncs.
//     complete    Every reader opens it. The journal may not know it.
//        |        complete_run: what made the open file readable is cleared, if there was any (HDF5); a CLOSED record
//        v        is appended to the journal of the first node.
//     closed      The caller removes the journals, which is durable when the folder is synced (recover.h).
//
// Invariants:
//
//  1. Metadata lies behind every page that it names, and behind everything that was claimed for pages. Two pages lie at
//     one place (RNTuple stores equal pages once) or share no byte.
//  2. Payload is durable before metadata names it: a BARRIER says so, or the pages are compared with their checksums
//  and
//     become durable with the first sync of the format. Pages that another machine wrote and did not sync are written
//     again before that. If that machine loses its power before, all is done again with what is still there.
//  3. The CLOSED record follows the last write. So a journal that says CLOSED is believed, except in a copy.
//  4. Every step can be repeated after any interruption, with the same result. A file that is complete stays as it is,
//     except that it is cut to its end, and that its last write is repeated: the kernel may have it in memory alone.
//  5. If another node may be completing the same file (`is_beside_another`, `is_alone`), nothing behind the last page
//  is
//     given back, and the file is not cut to its length.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/format/format.h"

namespace thalweg::dataset {

struct CompleteOptions {
    RunState state = RunState::ended;
    bool whole_file_checksum = true;
    std::uint64_t least_end = 0; // extents may have been claimed up to here
    // Another node may be completing the file, too: bytes behind the pages are neither given back nor overwritten.
    bool is_beside_another = false;
    // Called when the journals are read, before anything is written. Throws if they are not what they should be.
    std::function<void(Gathered const&)> check_gathered = {};
    // Called when the end of the pages is known, before metadata is written there.
    std::function<void(std::uint64_t end_offset)> before_metadata = {};
    // Set if another node may be completing the file, too. Called once the file is complete; the file is cut to its
    // length only if this returns true.
    std::function<bool()> is_alone = {};
};

struct CompleteResult {
    RunReport report;
    std::string path;
    std::uint64_t file_bytes = 0;
    std::uint32_t adler32 = 0; // of the whole file, if asked for
    std::uint64_t gather_cpu_ns = 0;
    std::uint64_t complete_cpu_ns = 0;
};

// Completes the file. The journals stay: to remove them is the caller's last step.
CompleteResult complete_run(storage::Storage& file, Journals const& journals, format::Format const& format,
                            CompleteOptions const& options);
inline CompleteResult complete_run(storage::Storage& file, JournalFiles const& journal, format::Format const& format,
                                   CompleteOptions const& options) {
    return complete_run(file, Journals{journal}, format, options);
}

inline constexpr std::size_t kLastWriteBytes = 512; // what both containers write last: the sector at offset 0

// Adds what the format says about clusters that it has joined to the report.
void note_joined(format::Completed const& completed, RunReport& report);

// Throws base::DataError if the file is not of the run that the journal's head describes.
void check_pair(storage::Storage const& file, format::Format const& format, model::RunHead const& head);

// Writes these pages again as they are. Another machine wrote them and did not sync: this machine can read them, but
// its own sync need not cover them. Throws base::SystemError (ENODATA) if one of them is not what it was when it was
// gathered: that machine has lost its power since then, and the page with it.
void write_again(storage::Storage& file, std::vector<UnsyncedPage> const& pages);

// Returns true if the file is complete and of this run. The journal may not know it yet.
bool is_complete(storage::Storage const& file, format::Format const& format, model::RunHead const& head);

// Writes what a run begins with, if a power cut may have taken it, or if the file is a copy, which may be older than
// its journal: a BARRIER in that journal tells nothing about the copy.
void begin_again(storage::Storage& file, format::Format const& format, Gathered const& gathered, RunState state);

// Clears the sector from which readers of the open file started, if the format has one and something is there: the file
// is complete now, or an image of one. Returns true if it had to. Not durable before a sync.
bool clear_interim_sector(storage::Storage& file, format::Format const& format);

// Waits for writes that killed processes have left with the kernel.
void wait_for_killed_writers(storage::Storage& file);

} // namespace thalweg::dataset
