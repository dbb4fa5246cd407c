// A run open for writing, in the process that created it.
//
// States, and what moves them on (LedgerState, which all processes see; `ended_` says that this object is through):
//
//     open        Producers come and go; the committer journals what they publish.
//        |        close(): producers of this process end, all others are waited for, and no new ones are let in. If
//        v        one does not end in time the run is open again.
//     closing     All that was published is in the journal. If the run is of several nodes, they wait for each other
//        |        (nodes/node_ending.h).
//        v        complete_run: the file is complete, and the journals are removed.
//     closed
//
//     failed      from any state, on an error that leaves the journal to `recover`: the committer's, or of close().
//     abandoned   from open, by abandon() or the destructor: `recover` completes the file.
//
// Invariants:
//
//  1. The file is completed once, by close() alone, behind the last record of the committer.
//  2. A run that has ended never goes back: no producer is given out, and no second close touches the file.
//  3. A forked child neither ends its parent's run nor waits for its threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "thalweg/base/error.h"
#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/begin/begun_run.h"
#include "thalweg/dataset/begin/options.h"
#include "thalweg/dataset/commit/committer.h"
#include "thalweg/dataset/commit/file_watch.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/nodes/node_run.h"

namespace thalweg::dataset {

class Writer {
  public:
    // Creates a file at `path`, with its journal beside it. Throws base::UsageError if something is there already
    // (unless forced), base::SystemError if the place cannot be written.
    static std::unique_ptr<Writer> create(std::string const& path, model::Schema schema,
                                          CreateOptions const& options = {},
                                          std::map<std::string, std::string> metadata = {});

    // Joins the run that `create` begins on the first of its nodes, whose number is 0: all calls return when all nodes
    // are there. Knobs are those of the run. Throws base::UsageError that names the nodes that are missing when the
    // time is over, if the node is there already, or if nodes do not agree.
    static std::unique_ptr<Writer> join(std::string const& path, std::uint32_t node, JoinOptions const& options);

    // Goes on with the unfinished run at `path`, in the same file, after all processes that wrote it have died: rows
    // that are recovered stay, keys of units that count are taken, and producers get new numbers. Knobs that are not
    // given keep the values that they had. Throws base::UsageError if there is no unfinished run, if it is a copy or is
    // still being written, or if `schema`, the order or a knob that is of the file is given otherwise.
    // A run of several nodes goes on with as many: this is the first one, and the others `join` with `resume`, each on
    // its machine. Returns when all are there again.
    static std::unique_ptr<Writer> resume(std::string const& path, std::optional<model::Schema> const& schema,
                                          CreateOptions const& options);

    // Creates the file in which this run will go on: of the same schema, with its memory in the same folder. Keys of
    // work units are taken in both; that this one goes on there is durable when the call returns. Then `continue_in`.
    // Throws as `create` does, and this run goes on as it is then.
    std::unique_ptr<Writer> create_next(std::string const& path, CreateOptions const& options,
                                        std::map<std::string, std::string> metadata = {});

    // Creates a run on storages of any kind, for this process alone.
    static std::unique_ptr<Writer> create_on(std::shared_ptr<storage::Storage> file, JournalFiles journal,
                                             format::Format const& format, model::RunHead head,
                                             CreateOptions const& options);

    // Abandons: the journal stays, for `recover`.
    ~Writer();

    // Returns a new producer: one for each thread. Throws base::UsageError if there is no such table.
    Producer producer(std::string const& table);

    // Begins a work unit, of rows that count together or not at all: one at a time for each thread. See work_unit.h.
    WorkUnit work_unit(UnitKey const& key, std::string summary = {});
    bool is_committed(UnitKey const& key) const;
    WorkUnits& work_units();

    // Returns what other processes attach to. Throws base::UsageError if the run is for this process alone.
    std::string handle() const;
    std::string const& path() const { return run_->path(); }
    std::string engine() const { return run_->file->engine(); }
    model::RunHead const& head() const { return run_->head; }
    NodeOfRun node() const { return run_->node ? run_->node->which : NodeOfRun{}; }
    CommitStatus status() const;
    // Returns the nodes that are taken for dead in a run that goes on without them, from 0, and why.
    std::map<std::uint32_t, std::string> dead_nodes() const;
    // Returns what has become of the file if it was removed or moved (file_watch.h), or empty text.
    std::string file_problem() const { return watch_ ? watch_->problem() : ""; }

    // Producers go on in the file of `next`, which `create_next` has made, from their next `append` on.
    void continue_in(Writer const& next);

    // Adds to the metadata of the file, which has it when it is closed.
    void set_metadata(std::string const& key, std::string const& value);

    // Waits until all producers have finished or died, and completes the file. Throws base::SystemError naming those
    // that did not finish in time (the run stays open then), and any other error; the journal stays then, too. If an
    // end of a work unit's producers has failed, the file is completed first and says so in that error.
    // Each of several nodes has to close; the first one completes the file when all have finished, and the others wait.
    CompleteResult close(std::uint64_t timeout_ns);

    // Ends the run without completing the file. `recover` completes it.
    void abandon();

  private:
    explicit Writer(BegunRun begun);
    static std::unique_ptr<Writer> create_at(std::string const& path, model::Schema schema,
                                             CreateOptions const& options, std::map<std::string, std::string> metadata,
                                             Writer* before);
    static std::unique_ptr<Writer> of_node(BegunRun begun);
    void start_committer(BegunRun& begun);
    void journal_next(Writer const& next);
    void check_open() const;
    void end_producers(std::uint64_t end_ns);
    void finish_units();
    void wait_for_producers(std::uint64_t end_ns) const;
    JournalWriter finish_journal();
    CompleteResult complete_alone();
    CompleteResult complete();
    FilePlace place_of_complete() const;
    void leave(FilePlace const& place, CompleteResult& result);
    CompleteResult complete_with_others(std::uint64_t end_ns);
    std::shared_ptr<Committer> committer() const;
    void drop_committer();
    void give_up_lock();

    std::shared_ptr<OpenRun> run_;
    std::unique_ptr<WorkUnits> units_;
    JournalFiles journal_;
    mutable base::Mutex status_mutex_; // status() may be asked while another thread closes
    std::shared_ptr<Committer> committer_ THALWEG_GUARDED_BY(status_mutex_);
    CommitStatus last_status_ THALWEG_GUARDED_BY(status_mutex_);
    std::map<std::string, std::string> added_metadata_;
    std::shared_ptr<FileWatch const> watch_; // only if the file has a name
    std::unique_ptr<NodeRun> part_;          // only if the run is of several nodes
    bool whole_file_checksum_;
    bool ended_ = false;
    std::optional<base::SystemError> failed_end_; // of a producer: what it could not write is in the journal
    std::uint64_t const fork_generation_;
};

} // namespace thalweg::dataset
