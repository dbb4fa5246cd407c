// What one process holds of a run that is open for writing: shared by its producers (and its committer).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/node_folder/shared_keys.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/staging.h"
#include "thalweg/format/format.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

using tuning::WriteOptions;

struct OpenRun {
    model::RunHead head;
    WriteOptions options;
    std::unique_ptr<Ledger> ledger;
    std::shared_ptr<storage::Storage> file;
    format::Format const* format = nullptr;
    base::FileDescriptor journal_lock; // flock, shared: `recover` waits for all that hold it
    base::FileDescriptor memory_lock;  // the same on the ledger: `thalweg clean` leaves it alone
    std::unique_ptr<NodeShare> node;   // in the process that creates it or joins: one of several nodes
    std::unique_ptr<SharedKeys> keys;  // of several nodes, where units of one key may be done on any of them
    // Called now and then by a thread that appends, while it waits for the committer; it may throw, which ends the wait
    // and leaves everything as it is. Threads of this process may call it at once. Threads of the library never do.
    std::function<void()> while_waiting;

    std::string const& path() const { return file->path(); }
};

} // namespace thalweg::dataset
