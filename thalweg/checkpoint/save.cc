#include "thalweg/checkpoint/save.h"

#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/thread.h"

namespace thalweg::checkpoint {
namespace {

// The memory of the last copy, for the next one: memory that is touched for the first time costs more than the copy.
base::Mutex kept_mutex;
base::AlignedBuffer kept_memory;

base::AlignedBuffer take_memory() {
    base::Lock const lock(kept_mutex);
    return std::exchange(kept_memory, base::AlignedBuffer());
}

void keep_memory(base::AlignedBuffer memory) {
    base::Lock const lock(kept_mutex);
    if (memory.size() > kept_memory.size()) kept_memory = std::move(memory);
}

} // namespace

SaveReport save(std::string const& path, std::vector<Array> const& arrays, Communicator& comm,
                SaveOptions const& options) {
    Saving saving(path, arrays, comm, options);
    saving.encode();
    saving.place(comm);
    saving.write();
    return saving.finish(comm);
}

struct SavingInBackground::Work {
    Work(std::string const& path, std::vector<Array> const& arrays, Communicator& comm_of_caller,
         SaveOptions const& options)
        : comm(comm_of_caller), saving(path, arrays, comm_of_caller, options) {}
    ~Work() {
        if (thread.joinable()) thread.join();
        keep_memory(std::move(memory));
    }

    void begin() {
        if (!saving.may_copy()) return; // `wait` finds everything done but the end
        memory = take_memory();
        saving.copy_blocks(memory);
    }

    // It is done here if the machine has no thread left: the other ranks count on it.
    void in_background(std::function<void()> const& work) {
        try {
            thread = base::Thread(work);
        } catch (std::system_error const&) {
            work();
        }
    }

    void run_alone() {
        try {
            saving.encode();
            saving.place(*own_comm);
            saving.write();
            report = saving.finish(*own_comm);
        } catch (...) {
            failure = std::current_exception();
        }
    }

    Communicator& comm;
    std::unique_ptr<Communicator> own_comm; // the thread's; null if there is none
    Saving saving;
    base::AlignedBuffer memory;
    std::optional<SaveReport> report;
    std::exception_ptr failure;
    base::Thread thread;
};

SavingInBackground::SavingInBackground(std::unique_ptr<Work> work) : work_(std::move(work)) {}
SavingInBackground::SavingInBackground(SavingInBackground&&) noexcept = default;
SavingInBackground& SavingInBackground::operator=(SavingInBackground&&) noexcept = default;
SavingInBackground::~SavingInBackground() = default;

SavingInBackground save_async(std::string const& path, std::vector<Array> const& arrays, Communicator& comm,
                              SaveOptions const& options) {
    auto work = std::make_unique<SavingInBackground::Work>(path, arrays, comm, options);
    auto* const at = work.get();
    at->own_comm = comm.duplicate();
    at->begin();
    if (at->saving.may_copy() && at->own_comm) {
        at->in_background([at] { at->run_alone(); });
    } else {
        at->saving.encode();
        at->saving.place(comm);
        if (at->saving.may_copy()) {
            at->in_background([at] {
                at->saving.write();
                at->saving.end_writes();
            });
        } else {
            at->saving.write();
        }
    }
    return SavingInBackground(std::move(work));
}

SaveReport SavingInBackground::wait() {
    auto const work = std::exchange(work_, nullptr);
    if (!work) base::fail_usage({"a save has been waited for already", "", "wait once for each save_async"});
    if (work->thread.joinable()) work->thread.join();
    if (work->failure) std::rethrow_exception(work->failure);
    if (!work->report) {
        THALWEG_ASSERT(!work->own_comm || !work->saving.may_copy(),
                       "a save that ended in the background has its report");
        work->report = work->saving.finish(work->comm);
    }
    return *work->report;
}

} // namespace thalweg::checkpoint
