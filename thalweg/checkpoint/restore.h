// Restores what was saved, on any number of ranks and in any blocks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/checkpoint/ranks.h"
#include "thalweg/checkpoint/record.h"

namespace thalweg::checkpoint {

struct RestoreOptions {
    // All of a checkpoint is read and compared with its checksums before it is chosen, each rank a share of it. Without
    // it what is damaged is only found when it is read.
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
    // Newer checkpoints that were passed over, and why. Empty: this is the newest one.
    std::vector<std::string> const& problems() const { return problems_; }

    // The elements of a box, into `out` in C order. No other rank needs to call it. Throws base::DataError where what
    // is read is damaged; `out` means nothing then.
    void read(std::string const& name, Box const& box, std::span<std::byte> out) const;

    // What of the share of `rank`, one of `ranks`, is not as it was written.
    std::vector<std::string> find_damage(int rank, int ranks) const;

  private:
    std::string path_;
    Record record_;
    std::vector<std::string> problems_;
    unsigned threads_;
    std::unique_ptr<storage::Storage> file_;
};

// The newest checkpoint of `path`, `path.1`, ... that is whole. All ranks call it. Throws base::SystemError (ENOENT)
// where there is none, base::DataError where all are damaged, base::UsageError where `path` is something else.
State restore(std::string const& path, Communicator& comm, RestoreOptions const& options = {});

} // namespace thalweg::checkpoint
