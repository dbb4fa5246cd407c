// Saves distributed arrays: all ranks write one HDF5 file, which replaces the last one when it is whole.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/checkpoint/saving.h"

namespace thalweg::checkpoint {

// All ranks call it, with the same path and options. Returns when the checkpoint is durable, and throws on all ranks if
// it fails on any: what was saved before is untouched then.
SaveReport save(std::string const& path, std::vector<Array> const& arrays, Communicator& comm,
                SaveOptions const& options = {});

// A save that goes on in a thread.
class SavingInBackground {
  public:
    SavingInBackground(SavingInBackground&&) noexcept;
    SavingInBackground& operator=(SavingInBackground&&) noexcept;
    // Waits for the thread. A save for which `wait` was not called may be lost.
    ~SavingInBackground();

    // All ranks call it, once. Returns when the checkpoint is durable, or throws on all ranks.
    SaveReport wait();

  private:
    friend SavingInBackground save_async(std::string const&, std::vector<Array> const&, Communicator&,
                                         SaveOptions const&);
    struct Work;
    explicit SavingInBackground(std::unique_ptr<Work> work);
    std::unique_ptr<Work> work_;
};

// As `save`, but returns when all blocks are copied: their memory may change then. What the ranks disagree about is
// thrown here, everything else by `wait`. If the communicator has no duplicate, the checkpoint is only complete when
// all have waited. `comm` must be there until then. If a rank may not take the memory for its copy (SaveOptions),
// all of it happens here.
SavingInBackground save_async(std::string const& path, std::vector<Array> const& arrays, Communicator& comm,
                              SaveOptions const& options = {});

} // namespace thalweg::checkpoint
