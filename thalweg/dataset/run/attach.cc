#include "thalweg/dataset/run/attach.h"

#include <cerrno>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

std::shared_ptr<OpenRun> attach(std::string const& handle, std::optional<unsigned> seal_threads,
                                std::function<void()> while_waiting) {
    auto run = std::make_shared<OpenRun>();
    run->while_waiting = std::move(while_waiting);
    run->ledger = Ledger::attach(handle);
    auto const& head = run->ledger->head();
    std::string const path = head.path;
    RunPlace const place(path, run->ledger->node());
    if (head.boot_id != base::boot_id() || head.pid_namespace != base::pid_namespace()) {
        base::fail_usage({"cannot attach to " + path, "its creator is on another machine or in another container",
                          "write from processes that can see each other"});
    }
    run->ledger->check_alive();
    run->memory_lock = hold_memory(handle);
    try {
        run->journal_lock = place.lock_shared();
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        base::fail_usage({"cannot attach to " + path, "it has just been closed, or its journal was taken away"});
    }
    run->options = tuning::unpack(head.knobs).write;
    run->options.seal_threads = seal_threads.value_or(run->options.seal_threads);
    auto const journal = place.open_journal(storage::OpenMode::read_only).main;
    run->head = read_head(*journal);
    if (run->head.id != run->ledger->head().run_id) {
        base::fail_usage({"cannot attach to " + path, "the journal beside it belongs to another run"});
    }
    // Another file may have that name by now, which is no part of the run: what is written into it would never be read.
    if (!place.is_original(read_start(*journal).preamble)) {
        base::fail_usage({"cannot attach to " + path, "the file there is not the one that is being recorded",
                          "put that one back, under its name"});
    }
    run->format = &format_for(path);
    run->file = storage::open_file_storage(path, storage::OpenMode::read_write, run->options.engine);
    if (place.is_of_many()) run->keys = shared_keys(place.parts(), place.node().node, rules_of(place.parts()));
    return run;
}

std::shared_ptr<OpenRun> attach_next(OpenRun const& run) {
    return attach(run.ledger->head().next_ledger, run.options.seal_threads, run.while_waiting);
}

} // namespace thalweg::dataset
