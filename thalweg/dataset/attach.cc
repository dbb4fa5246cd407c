#include "thalweg/dataset/attach.h"

#include <cerrno>
#include <sys/file.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal.h"
#include "thalweg/dataset/lock.h"

namespace thalweg::dataset {

std::shared_ptr<OpenRun> attach(std::string const& handle, WriteOptions const& options) {
    auto run = std::make_shared<OpenRun>();
    run->ledger = Ledger::attach(handle);
    run->ledger->check_alive();
    std::string const path = run->ledger->head().path;
    run->options = options;
    try {
        run->journal_lock = lock_shared(journal_path(path));
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        base::fail_usage({"cannot attach to " + path, "it has just been closed, or its journal was taken away"});
    }
    auto const journal =
        storage::open_file_storage(journal_path(path), storage::OpenMode::read_only, storage::Engine::posix);
    run->head = read_head(*journal);
    if (run->head.id != run->ledger->head().run_id) {
        base::fail_usage({"cannot attach to " + path, "the journal beside it belongs to another run"});
    }
    run->file = storage::open_file_storage(path, storage::OpenMode::read_write);
    return run;
}

} // namespace thalweg::dataset
