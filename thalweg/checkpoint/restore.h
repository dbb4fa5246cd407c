// Restores what was saved, on any number of ranks and in any blocks.
//
// `restore` tries the checkpoints of a path one after the other, the newest first:
//
//     found      rank 0 reads the record of the next file and checks it; a file whose record is damaged is passed over
//        |       [agree: all ranks get the path and the record]
//     verified   each rank compares its share of the pieces with their checksums (`verify`)
//        |       [agree: if any rank has found damage, all ranks go on to the next file]
//     restored   `State`: each rank reads the boxes that it wants, without the others
//
// Invariants:
//
//  1. All ranks restore the same file: rank 0 names it, and its record comes from rank 0 alone.
//  2. With `verify` every piece of the file is read by some rank before any rank uses it.
//  3. Each piece that is read later is compared with its checksum again.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/checkpoint/ranks.h"
#include "thalweg/checkpoint/record.h"

namespace thalweg::checkpoint {

struct RestoreOptions {
    // All of a checkpoint, what HDF5 needs to read it too, is read and compared with its checksums before it is chosen,
    // each rank a share of it. Without it what is damaged is only found when it is read.
    bool verify = true;
    unsigned threads = 4; // that read, on each rank
};

// A checkpoint that has been found. Thread-safe.
class State {
  public:
    State(std::string path, Record record, std::vector<std::string> problems, unsigned threads);

    std::string const& path() const { return path_; }
    std::string const& id() const { return record_.id; }
    model::Attributes const& attributes() const { return record_.attributes; }
    std::vector<StoredArray> const& arrays() const { return record_.arrays; }
    // Throws base::UsageError that names the arrays there are.
    StoredArray const& array(std::string const& name) const;
    // Newer checkpoints that were passed over or are missing, and why. Empty: this is the newest one.
    std::vector<std::string> const& problems() const { return problems_; }

    // Reads the elements of a box into `out` in C order. No other rank needs to call it. Throws base::DataError if what
    // is read is damaged; `out` means nothing then.
    void read(std::string const& name, Box const& box, std::span<std::byte> out) const;

    // Returns sentences about what is not as it was written in the share of `rank`, one of `ranks`. `progress` is
    // called with the fraction that is done, from any thread, one call at a time.
    std::vector<std::string> find_damage(int rank, int ranks, std::function<void(double)> const& progress = {}) const;

  private:
    std::string path_;
    Record record_;
    std::vector<std::string> problems_;
    unsigned threads_;
    std::unique_ptr<storage::Storage> file_;
};

// Returns the newest checkpoint that is whole: `path`, or an older one that its list has (candidates.h). All ranks call
// it. Throws base::SystemError (ENOENT) if there is none, base::DataError if all are damaged, and base::UsageError if
// `path` is something else, or the ranks name different files.
State restore(std::string const& path, Communicator& comm, RestoreOptions const& options = {});

// Takes part in the first agreement of `restore`, as a rank that cannot say what it restores: all ranks throw `why`.
[[noreturn]] void refuse_restore(Communicator& comm, std::string const& path, std::exception_ptr const& why);

} // namespace thalweg::checkpoint
