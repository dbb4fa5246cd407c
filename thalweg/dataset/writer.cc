#include "thalweg/dataset/writer.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/begin/creation.h"
#include "thalweg/dataset/begin/metadata.h"
#include "thalweg/dataset/begin/resumption.h"
#include "thalweg/dataset/begin/set_aside.h"
#include "thalweg/dataset/commit/disk_share.h"
#include "thalweg/dataset/complete/interim_image.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/nodes/joining.h"
#include "thalweg/dataset/nodes/node_resumption.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/run/unit_group.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

// What was not durable when the committer ended, at the latest with the last beat of its heart, becomes so with the
// last steps of the close and not before; where these fail, never.
void grow_older(CommitStatus& status, std::uint64_t ns) {
    status.durable_lag_ns += ns;
    if (status.units_not_durable > 0) status.units_oldest_age_ns += ns;
}

// What a user can do about a run that has ended without a close.
std::string advice_for(OpenRun const& run) {
    return run.node ? run.node->advice(run.path()) : fmt::format("run `thalweg recover {}`", run.path());
}

} // namespace

std::unique_ptr<Writer> Writer::create(std::string const& path, model::Schema schema, CreateOptions const& options,
                                       std::map<std::string, std::string> metadata) {
    check_given(path, metadata);
    return create_at(path, std::move(schema), options, std::move(metadata), nullptr);
}

std::unique_ptr<Writer> Writer::create_at(std::string const& path, model::Schema schema, CreateOptions const& asked,
                                          std::map<std::string, std::string> metadata, Writer* before) {
    tuning::check(asked);
    auto const& format = format_for(path);
    auto const absolute = std::filesystem::absolute(path).lexically_normal().string();
    check_folder_of(absolute);
    auto options = asked;
    fit_to_disk_of(std::filesystem::path(absolute).parent_path(), std::max(1u, options.nodes.nodes), options.layout);
    auto head = format.make_head(std::move(schema), options.layout, std::move(metadata));
    set_order(absolute, options.keys_per_group, head);
    if (absolute.size() >= sizeof LedgerHead::path)
        base::fail_usage({"cannot create " + absolute, "its path has more than 1000 bytes", "choose a shorter one"});
    check_nodes(absolute, options, before != nullptr);
    remove_stale_segments();
    std::optional<SetAside> replaced;
    if (options.force) replaced.emplace(absolute);
    clear_place(absolute);
    RunPlace const place(absolute, {0, options.nodes.nodes});
    BegunRun begun;
    auto const run = begun.run;
    std::unique_ptr<Writer> writer;
    begun.files = take_place(place);
    try {
        run->journal_lock = place.lock_shared();
        run->file = storage::open_file_storage(absolute, storage::OpenMode::create_new, options.write.engine);
        run->head = std::move(head);
        begun.watch = std::make_shared<FileWatch>(absolute, place.journal());
        if (place.is_of_many()) {
            begin_as_first(begun, options, format);
        } else {
            begin_alone(begun, options, format, options.shared,
                        before != nullptr ? before->run_->ledger.get() : nullptr);
        }
        writer.reset(new Writer(std::move(begun)));
        if (place.open_journal(storage::OpenMode::read_only).required_start()->preamble.run_id != run->head.id)
            base::fail_usage({"cannot create " + absolute, "another recorder has just taken that place"});
        base::sync_directory_of(absolute);
        if (before != nullptr) before->journal_next(*writer);
    } catch (std::exception const& error) {
        if (writer) writer->abandon(); // or its committer goes on
        writer.reset();
        begun = {};
        remove_traces(*run, place, error.what());
        throw;
    }
    if (replaced) replaced->discard();
    return writer;
}

std::unique_ptr<Writer> Writer::create_on(std::shared_ptr<storage::Storage> file, JournalFiles journal,
                                          format::Format const& format, model::RunHead head,
                                          CreateOptions const& options) {
    BegunRun begun;
    begun.run->file = std::move(file);
    begun.run->head = std::move(head);
    begun.files = std::move(journal);
    begin_alone(begun, options, format, false);
    return std::unique_ptr<Writer>(new Writer(std::move(begun)));
}

std::unique_ptr<Writer> Writer::join(std::string const& path, std::uint32_t node, JoinOptions const& options) {
    auto const absolute = std::filesystem::absolute(path).lexically_normal().string();
    static_cast<void>(format_for(absolute));
    return of_node(options.resume ? return_to_run(absolute, node, options) : join_run(absolute, node, options));
}

std::unique_ptr<Writer> Writer::resume(std::string const& path, std::optional<model::Schema> const& schema,
                                       CreateOptions const& options) {
    auto const absolute = std::filesystem::absolute(path).lexically_normal().string();
    auto const places = places_of_run(absolute);
    if (!places.empty() && places.front().is_of_many()) return of_node(resume_as_first(absolute, schema, options));
    return std::unique_ptr<Writer>(new Writer(resume_alone(absolute, schema, options)));
}

// The other nodes know about this one: if it cannot go on, they hear why.
std::unique_ptr<Writer> Writer::of_node(BegunRun begun) {
    auto const run = begun.run;
    try {
        return std::unique_ptr<Writer>(new Writer(std::move(begun)));
    } catch (std::exception const& error) {
        run->node->announce_end(error.what());
        throw;
    }
}

Writer::Writer(BegunRun begun)
    : run_(begun.run), journal_(begun.files), watch_(begun.watch),
      whole_file_checksum_(begun.tuning.whole_file_checksum), fork_generation_(base::fork_generation()) {
    THALWEG_ASSERT(begun.journal && run_->ledger && run_->ledger->head().state == LedgerState::open,
                   "a writer takes over a run that has begun and is open");
    if (run_->node) part_ = std::make_unique<NodeRun>(begun);
    start_committer(begun);
}

void Writer::start_committer(BegunRun& begun) {
    auto const reserve = [bound = run_->format->metadata_bound(run_->head),
                          earlier = begun.counts](PageCounts const& pages) {
        auto const all = pages.all + earlier.all;
        return bound.bytes(all, pages.of_lengths + earlier.of_lengths) +
               unit_list_bound(pages.unit_bytes + earlier.unit_bytes, all);
    };
    auto committer = std::make_shared<Committer>(*run_, std::move(*begun.journal), begun.tuning.commit, reserve,
                                                 make_interim_metadata(*run_, begun.files, begun.earlier_rows),
                                                 std::move(begun.clusters), watch_);
    base::Lock const lock(status_mutex_);
    committer_ = std::move(committer);
    units_ = std::make_unique<WorkUnits>(run_);
}

Writer::~Writer() {
    bool const is_open = !ended_ && (committer_ || (part_ && part_->has_finished()));
    if (is_open && fork_generation_ == base::fork_generation()) {
        abandon();
        // An exception that leaves the block of the writer says enough.
        if (std::uncaught_exceptions() == 0)
            base::say(base::Message{path() + " is not complete", "its writer was not closed", advice_for(*run_)}.str());
    }
    // In a forked child the threads of the committer do not exist: there is nothing to stop, and nothing to join.
    if (fork_generation_ != base::fork_generation()) new (std::nothrow) std::shared_ptr<Committer>(committer_);
}

void Writer::check_open() const {
    if (fork_generation_ != base::fork_generation()) {
        base::fail_usage({fmt::format("{} belongs to the parent process", path()), "it was inherited through fork",
                          "use attach(handle) in the child"});
    }
    if (!ended_) return;
    auto const& head = run_->ledger->head();
    if (head.state == LedgerState::failed) base::fail_usage({head.failure, "", advice_for(*run_)});
    base::fail_usage({fmt::format("{} is closed", path()), "", "create another file"});
}

Producer Writer::producer(std::string const& table) {
    check_open();
    return Producer(run_, run_->head.schema.table_index(table));
}

WorkUnit Writer::work_unit(UnitKey const& key, std::string summary) {
    check_open();
    return units_->begin(key, std::move(summary));
}

WorkUnits& Writer::work_units() {
    check_open();
    return *units_;
}

bool Writer::is_committed(UnitKey const& key) const {
    check_open();
    return units_->is_committed(key);
}

std::map<std::uint32_t, std::string> Writer::dead_nodes() const {
    return part_ ? part_->dead_nodes() : std::map<std::uint32_t, std::string>{};
}

std::string Writer::handle() const {
    if (!run_->ledger->is_shared())
        base::fail_usage({path() + " has no handle", "it was created for one process only"});
    return run_->ledger->name();
}

CommitStatus Writer::status() const {
    base::Lock lock(status_mutex_);
    auto const committer = committer_;
    auto status = last_status_;
    lock.unlock();
    auto const& head = run_->ledger->head();
    if (committer)
        status = committer->status();
    else if ((head.state == LedgerState::closing && !run_->node) || head.state == LedgerState::failed)
        grow_older(status, base::monotonic_ns() - head.heartbeat_ns.load());
    status.has_failed = head.state == LedgerState::failed;
    if (status.has_failed) status.failure = head.failure;
    status.memory = run_->ledger->memory_place();
    return status;
}

std::shared_ptr<Committer> Writer::committer() const {
    base::Lock const lock(status_mutex_);
    return committer_;
}

void Writer::drop_committer() {
    auto status = committer()->status();
    base::Lock const lock(status_mutex_);
    last_status_ = std::move(status);
    committer_.reset();
}

void Writer::set_metadata(std::string const& key, std::string const& value) {
    check_open();
    if (part_ && part_->has_finished())
        base::fail_usage({path() + " takes no more metadata", "this node has closed, and waits for the others"});
    check_given(path(), {{key, value}});
    added_metadata_[key] = value;
}

void Writer::wait_for_producers(std::uint64_t end_ns) const {
    Backoff backoff;
    while (true) {
        auto const unfinished = committer()->unfinished();
        if (unfinished.empty() || run_->ledger->head().state == LedgerState::failed) return;
        if (base::monotonic_ns() >= end_ns) {
            std::string producers;
            for (auto const& producer : unfinished) {
                producers +=
                    fmt::format("{}process {} (table '{}', {} rows)", producers.empty() ? "" : ", ",
                                producer.process.pid, run_->head.schema.tables[producer.table].name, producer.rows);
            }
            if (auto const why = committer()->unanswered(); !why.empty()) producers += "; " + why;
            base::fail_system({fmt::format("{} cannot be closed yet", path()), "not finished: " + producers,
                               "finish these producers, or end their processes, and close again"},
                              ETIMEDOUT);
        }
        committer()->look_now();
        backoff.pause();
    }
}

CompleteResult Writer::close(std::uint64_t timeout_ns) {
    check_open();
    auto const begin_ns = base::monotonic_ns();
    auto const end_ns = begin_ns + std::min(timeout_ns, std::numeric_limits<std::uint64_t>::max() - begin_ns);
    if (!part_ || !part_->has_finished()) end_producers(end_ns); // else an earlier call has done that
    auto result = part_ ? complete_with_others(end_ns) : complete_alone();
    THALWEG_ASSERT(ended_ && run_->ledger->head().state == LedgerState::closed, "a run that is complete is closed");
    if (failed_end_) {
        base::fail_system({fmt::format("{} is complete, and an error came before that", path()), failed_end_->what()},
                          failed_end_->code);
    }
    return result;
}

// What a producer could not write is in its staging: the committer takes it from there, and the file will have it.
void Writer::finish_units() {
    try {
        units_->finish();
    } catch (base::SystemError const& error) {
        failed_end_ = error;
    } catch (base::DataError const& error) {
        failed_end_.emplace(error.what());
    }
}

void Writer::end_producers(std::uint64_t end_ns) {
    auto& state = run_->ledger->head().state;
    units_->check_none_of_this_thread();
    finish_units();
    wait_for_producers(end_ns);
    auto open = LedgerState::open;
    state.compare_exchange_strong(open, LedgerState::closing);
    try {
        wait_for_producers(end_ns); // one may have come in the last moment; from now on all are refused
    } catch (base::Error const&) {
        auto closing = LedgerState::closing;
        state.compare_exchange_strong(closing, LedgerState::open);
        throw;
    }
}

// All that the committer had to journal is in the journal afterwards, with the metadata that were added.
JournalWriter Writer::finish_journal() {
    auto journal = committer()->finish();
    drop_committer();
    if (!added_metadata_.empty()) journal.append_json(RecordType::metadata, nlohmann::json(added_metadata_).dump());
    return journal;
}

CompleteResult Writer::complete_with_others(std::uint64_t end_ns) {
    try {
        if (!part_->has_finished()) {
            auto journal = finish_journal();
            if (!added_metadata_.empty()) journal.sync();
            part_->finish({journal.total_bytes(), journal.tally()});
        }
        auto result = part_->complete(end_ns);
        ended_ = true;
        journal_ = {};
        watch_.reset();
        part_->remove_journals_if_completed();
        return result;
    } catch (std::exception const& error) {
        auto const* const system = dynamic_cast<base::SystemError const*>(&error);
        if (part_->has_finished() && system != nullptr && system->code == ETIMEDOUT) throw; // the run stays open
        ended_ = true;
        part_->fail(error.what());
        give_up_lock();
        throw;
    }
}

void Writer::abandon() {
    if (ended_) return;
    if (fork_generation_ != base::fork_generation()) check_open(); // the parent's run is not the child's to end
    ended_ = true;
    if (part_) part_->abandon();
    if (part_ && part_->has_finished()) return give_up_lock();
    auto& ledger = *run_->ledger;
    auto open = LedgerState::open;
    ledger.head().state.compare_exchange_strong(open, LedgerState::abandoned);
    units_->abandon();
    try {
        committer()->finish();
        // It does not ask again which producers live: one that has died since may have published more.
        if (committer()->has_everything())
            remove_memory(run_->head.id, {ledger.head().memory_folder}, ledger.head().node);
    } catch (std::exception const&) {
        // The journal has what it has; what is still in shared memory stays there for `recover`.
    }
    drop_committer();
    give_up_lock();
}

// So that the run can be recovered while this object is still there. Producers that could still write keep it.
void Writer::give_up_lock() {
    if (!run_->ledger->has_producers()) run_->journal_lock.reset();
}

} // namespace thalweg::dataset
