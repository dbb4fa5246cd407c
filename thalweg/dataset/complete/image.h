// Shows what a run has at one time as an ordinary, complete file that is in no folder: the untouched bytes of the run's
// file, and in memory what `complete` would write in front of its pages and behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/storage/overlay.h"
#include "thalweg/storage/steady_file.h"

namespace thalweg::dataset {

struct ImageOptions {
    // Clusters that age ended are encoded again as larger ones (RNTuple). They take up to 256 MiB of memory.
    bool joins_clusters = false;
    // What the caller is doing, for errors: "cannot take a snapshot of run.h5 (...)".
    std::string what = "make an image of";
};

struct Image {
    std::unique_ptr<storage::Overlay> file; // immutable from now on: any number of threads may read it
    std::string run_id;
    RunReport report; // notes of what is left out, too
    // Committed, and not yet whole in the journal. In a run that is ordered by key: groups of units.
    std::uint64_t units_left_out = 0;
    bool is_written = true; // false: the process that wrote the run is gone, or it is a copy
};

// The image has all rows that the journal of the run at `path` knows: those that `recover` would keep if everything
// died now, except for what is only in the memory of producers. Its metadata says so under the key "snapshot". Takes no
// lock of the run and writes nothing of it. It stays readable, and as it is, if the run goes on, is closed, resumed or
// recovered, and if its file is removed or replaced by another one; a program that writes over its bytes changes it.
// Returns nothing if the file has no journal: it is complete, or was never Thalweg's. Throws base::UsageError if there
// is no file, or if nothing is recorded yet.
std::optional<Image> image_of_unfinished(std::string const& path, ImageOptions const& options = {});

// The same of any file: one that is complete is its own image. Reading it is an error (base::DataError) once another
// program has changed it.
struct FileImage {
    std::unique_ptr<storage::Storage const> file;
    std::optional<Image> unfinished;         // its `file` was taken out of it
    std::optional<storage::FileStamp> state; // of a complete file
    std::uint64_t memory_bytes = 0;          // that an image of an unfinished run takes
};
FileImage image_of(std::string const& path);

// Tells whether an image that is made now would show something else than one that was made before, without making it:
// sizes and times of the file, or of the journals if the run is unfinished.
struct ImageStamp {
    std::vector<storage::FileStamp> files;
    bool is_unfinished = false;
    bool is_written = false;

    bool operator==(ImageStamp const&) const = default;
};
// Throws base::UsageError if there is no file.
ImageStamp image_stamp(std::string const& path);

} // namespace thalweg::dataset
