// A run open for writing, in the process that created it.
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
#include "thalweg/dataset/commit/committer.h"
#include "thalweg/dataset/commit/file_watch.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/meeting.h"
#include "thalweg/dataset/node_ending.h"

namespace thalweg::dataset {

class Resuming;
struct UnfinishedRun;
struct ResumedRun;

// Of a run that several nodes write, each on a machine of its own: all see the folder of the file.
struct NodesOptions {
    std::uint32_t nodes = 1;
    NodeRules rules = {}; // of who creates it
    // So long a node waits for the others to come, and so long it waits for a sign of life of another one later.
    std::uint64_t timeout_ns = 60'000'000'000;
    // Called while this node waits for others, and while producers of this process wait (OpenRun::while_waiting).
    std::function<void()> while_waiting = {};
};

struct JoinOptions : NodesOptions {
    std::optional<model::Schema> schema = {}; // where one is given, it has to be that of the run; so has `nodes`
    bool resume = false;                      // this node returns to a run that the first one resumes
    JoinOptions() { nodes = 0; }
};

struct CreateOptions : tuning::Tuning {
    bool force = false; // replace a file, or an unfinished run, that is there already
    bool shared = true; // other processes may attach
    // Rows are in the order of the keys of their work units, which are integers and are committed in groups of so many
    // consecutive ones: the file is the same for any number of workers. RNTuple alone. 0: in no order.
    std::uint64_t keys_per_group = 0;
    JournalLimits journal = {};
    NodesOptions nodes = {};
    // Names of knobs that are given although they may have their default: `resume` takes these, and those that differ
    // from their defaults, from here, and all others from the run.
    std::set<std::string> given = {};
};

// What the run is written with, which is not always what was asked for.
tuning::Tuning in_effect(tuning::Tuning tuning, format::Format const& format, std::string const& path);

class Writer {
  public:
    // A new file at `path`, with its journal beside it. Throws base::UsageError where something is there already
    // (unless forced), base::SystemError where the place cannot be written.
    static std::unique_ptr<Writer> create(std::string const& path, model::Schema schema, CreateOptions const& options,
                                          std::map<std::string, std::string> metadata = {});

    // One of the nodes of the run that `create` begins on its first one, whose number is 0: all calls return when all
    // nodes are there. Knobs are those of the run. Throws base::UsageError that names who is missing when the time is
    // over, where the node is there already, or where nodes do not agree.
    static std::unique_ptr<Writer> join(std::string const& path, std::uint32_t node, JoinOptions const& options);

    // Goes on with the unfinished run at `path`, in the same file, after everybody who wrote it has died: rows that are
    // recovered stay, keys of units that count are taken, and producers get new numbers. Knobs that are not given keep
    // the values that they had. Throws base::UsageError where there is no unfinished run, where it is a copy or
    // somebody still writes it, or where `schema`, the order or a knob that is of the file is given otherwise.
    // A run of several nodes goes on with as many: this is the first one, and the others `join` with `resume`, each on
    // its machine. Returns when all are there again.
    static std::unique_ptr<Writer> resume(std::string const& path, std::optional<model::Schema> const& schema,
                                          CreateOptions const& options);

    // The file in which this run will go on: of the same schema, with its memory in the same folder. Keys of work units
    // are taken in both; that this one goes on there is durable when the call returns. Then `continue_in`. Throws as
    // `create` does, and this run goes on as it is then.
    std::unique_ptr<Writer> create_next(std::string const& path, CreateOptions const& options,
                                        std::map<std::string, std::string> metadata = {});

    // On storages of any kind, for this process alone.
    static std::unique_ptr<Writer> create_on(std::shared_ptr<storage::Storage> file, JournalFiles journal,
                                             format::Format const& format, model::RunHead head,
                                             CreateOptions const& options);

    // Abandons: the journal stays, for `recover`.
    ~Writer();

    // One for each thread. Throws base::UsageError where there is no such table.
    Producer producer(std::string const& table);

    // A work unit, of rows that count together or not at all: one at a time for each thread. See work_unit.h.
    WorkUnit work_unit(UnitKey const& key, std::string summary = {});
    bool is_committed(UnitKey const& key) const;
    WorkUnits& work_units();

    // What other processes attach to. Throws base::UsageError where the run is for this process alone.
    std::string handle() const;
    std::string const& path() const { return run_->path(); }
    std::string engine() const { return run_->file->engine(); }
    model::RunHead const& head() const { return run_->head; }
    NodeOfRun node() const { return run_->node ? run_->node->which : NodeOfRun{}; }
    CommitStatus status() const;
    // Of a run of several nodes that goes on without the dead: these, from 0, and why they are taken for that.
    std::map<std::uint32_t, std::string> dead_nodes() const;
    // Empty, or what has become of the file since: somebody has removed or moved it (file_watch.h).
    std::string file_problem() const { return watch_ ? watch_->problem() : ""; }

    // Producers go on in the file of `next`, which `create_next` has made, from their next `append` on.
    void continue_in(Writer const& next);

    // Added to the metadata of the file when it is closed.
    void set_metadata(std::string const& key, std::string const& value);

    // Waits until all producers have finished or died, and completes the file. Throws base::SystemError naming those
    // that did not finish in time (the run stays open then), and any other error; the journal stays then, too. If an
    // end of a work unit's producers has failed, the file is completed first and says so in that error.
    // Of several nodes each has to close; the first one completes the file when all have finished, and the others wait.
    CompleteResult close(std::uint64_t timeout_ns);

    // Ends the run without completing the file. `recover` completes it.
    void abandon();

  private:
    Writer() = default;
    static std::unique_ptr<Writer> create_at(std::string const& path, model::Schema schema,
                                             CreateOptions const& options, std::map<std::string, std::string> metadata,
                                             Writer* before);
    // `before`: the ledger of the run that this one continues.
    void start(CreateOptions const& options, format::Format const& format, bool shared, Ledger const* before = nullptr);
    void journal_next(Writer const& next);
    // `resuming`: of several nodes.
    void go_on(UnfinishedRun& unfinished, CreateOptions const& options, Resuming const* resuming = nullptr);
    void open_again(UnfinishedRun& unfinished, model::RunHead const& head, tuning::Tuning const& tuning,
                    std::unique_ptr<storage::Storage> file);
    // `earlier`: the keys of the files that this one continues.
    void take_numbers_and_keys(Gathered const& gathered, ResumedRun const& resumed,
                               std::vector<UnitKey> const& earlier);
    // The memory of the run, whose journal has begun.
    void make_ledger(tuning::Tuning const& tuning, base::MemoryFallback const& fallback, bool shared,
                     std::uint64_t first_offset, Ledger const* before = nullptr);
    void start_committer(JournalWriter journal, CommitOptions const& commit,
                         std::vector<std::pair<std::size_t, format::ClusterPages>> so_far = {},
                         PageCounts const& earlier = {});
    void check_open() const;
    void end_producers(std::uint64_t end_ns);
    void finish_units();
    void wait_for_producers(std::uint64_t end_ns) const;
    CompleteResult complete_alone();
    CompleteResult complete();
    std::shared_ptr<Committer> committer() const;
    void drop_committer();
    void give_up_lock();

    // Of one of several nodes.
    static std::unique_ptr<Writer> try_join(RunPlace const& place, FirstNode const& first, JoinOptions const& options,
                                            Deadline& deadline);
    void start_joined(RunPlace const& place, FirstNode const& first, JoinOptions const& options);
    // But for its journal and its memory.
    tuning::Tuning open_joined(RunPlace const& place, model::RunHead const& head, std::uint64_t timeout_ns);
    void begin_joined(RunPlace const& place, tuning::Tuning const& tuning);
    void watch_part(RunPlace const& place);
    void resume_as_first(std::string const& path, std::optional<model::Schema> const& schema,
                         CreateOptions const& options);
    void let_others_go_on(Resuming const& resuming, ResumedRun const& resumed, std::uint64_t first_free_offset);
    static std::unique_ptr<Writer> return_to(std::string const& path, std::uint32_t node, JoinOptions const& options);
    void start_returned(RunPlace const& place, FirstNode const& first, ResumedRun const& resumed, UnfinishedRun* own,
                        JoinOptions const& options);
    void finish_part();
    CompleteResult close_with_others(std::uint64_t end_ns);
    CompleteResult complete_for_all();
    CompleteResult completed_by_another();

    std::shared_ptr<OpenRun> run_;
    std::unique_ptr<WorkUnits> units_;
    JournalFiles journal_;
    mutable base::Mutex status_mutex_; // status() may be asked while another thread closes
    std::shared_ptr<Committer> committer_ THALWEG_GUARDED_BY(status_mutex_);
    CommitStatus last_status_ THALWEG_GUARDED_BY(status_mutex_);
    std::map<std::string, std::string> added_metadata_;
    std::shared_ptr<FileWatch const> watch_; // of a file that has a name
    bool whole_file_checksum_ = true;
    bool on_files_ = false;
    bool ended_ = false;
    std::optional<JournalWriter> joined_journal_; // until all nodes are there
    std::unique_ptr<NodeEnding> ending_;          // its part is finished
    std::optional<base::SystemError> failed_end_; // of a producer: what it could not write is in the journal
    std::uint64_t fork_generation_ = 0;
};

} // namespace thalweg::dataset
