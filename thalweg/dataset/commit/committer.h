// The committer: one thread that learns where pages lie and appends that to the journal. It touches facts, no payload.
//
// Each of its steps serves all producers once: admits new ones (ProducerList::admit), journals what they have announced
// (drain), and keeps space allocated ahead (SpaceAhead::keep_ahead). Beside that a flush goes through three phases, all
// moved by advance_flush:
//
//     idle        Interim metadata may be under way. When the flush interval is nearly over: what is published is
//     noted.
//        |
//        v
//     gathering   Waits a little for pages that hold what was noted; then journals the rows that no page holds.
//        |
//        v
//     syncing     Flush: the payload is synced, a BARRIER follows, the journal is synced. Then what was noted is
//     durable.
//        |
//        v
//     idle
//
// Invariants:
//
//  1. A page is journaled after its bytes are written, and a BARRIER covers only records whose payload was synced.
//  2. What a BARRIER covers, and what is called durable, never falls.
//  3. A producer is settled once: its slot is freed when the journal has all that it had published.
//  4. It never waits for a producer, and no producer waits for a sync.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/commit/cluster_collector.h"
#include "thalweg/dataset/commit/file_watch.h"
#include "thalweg/dataset/commit/flush.h"
#include "thalweg/dataset/commit/producer_list.h"
#include "thalweg/dataset/commit/space.h"
#include "thalweg/dataset/commit/unit_collector.h"
#include "thalweg/dataset/node_folder/node_watch.h"
#include "thalweg/dataset/run/commit_status.h"
#include "thalweg/dataset/run/status_board.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

using tuning::CommitOptions;

class Committer {
  public:
    // Starts the thread. `reserve_bytes` of (pages so far) are kept free behind what is allocated, for the metadata,
    // and room for what is published and in no page yet.
    // `interim`: what makes the file readable while it is written, if anything does.
    // `so_far`: the clusters of a run that is resumed, with their tables.
    // `watch`: if the file has a name. If it is not there any more, that is said on stderr within a flush interval: its
    // user may not ask, and what is recorded is lost when this process ends.
    Committer(OpenRun& run, JournalWriter journal, CommitOptions const& options,
              std::function<std::uint64_t(PageCounts const&)> reserve_bytes,
              std::unique_ptr<format::InterimMetadata> interim,
              std::vector<std::pair<std::size_t, format::ClusterPages>> so_far = {},
              std::shared_ptr<FileWatch const> watch = nullptr);
    ~Committer();

    // Producers that are neither finished nor dead.
    std::vector<ProducerStatus> unfinished() const { return status().producers; }
    CommitStatus status() const;
    // Ends its pause: for a thread that waits for what it does next.
    void look_now();

    // Adds to the metadata of the run, a JSON object of strings, and returns when the journal has it.
    void append_metadata(std::string json);

    // Ends the thread, journals everything that is left, syncs payload and journal, and gives the journal back.
    // Throws what went wrong in the thread.
    JournalWriter finish();
    // After `finish`: the journal has all that was ever published, and the memory of producers holds nothing more.
    bool has_everything() const { return has_everything_; }
    // Returns why it cannot be told whether producers live; empty if it can.
    std::string unanswered() const { return producers_.unanswered(); }
    void stop();

  private:
    void run();
    void pause();
    void step();
    void drain();
    void take_pages(ProducerIntake& producer);
    void take_units(ProducerIntake& producer);
    void journal_cluster_ends();
    void settle(ProducerIntake& producer, bool died);
    void look_for_dead();
    bool is_dead(ProducerIntake const& producer);
    void serve_units();
    void journal_metadata();
    void allocate();
    void count_units(ProducerIntake& producer);
    void look_for_file();
    void say_once(std::string const& problem);
    void look_for_nodes();
    void end_without_others(std::string const& problem);
    bool is_journal_read();
    void advance_flush(std::uint64_t now);
    void note_age(std::uint64_t now);
    bool collects_clusters();
    void note_published(std::uint64_t now);
    bool note_covered();
    void journal_rows();
    void begin_flush(std::uint64_t now);
    void end_flush(std::uint64_t now);

    OpenRun& run_;
    JournalWriter journal_;
    CommitOptions options_;
    StatusBoard board_;
    CommitterFigures& figures_; // on the board
    ProducerList producers_;
    SpaceAhead space_;
    ClusterCollector clusters_;
    UnitCollector units_;
    Durability durability_;
    Flush flush_;

    // Only the committer's thread uses these.
    enum class Phase : std::uint8_t { idle, gathering, syncing };
    Phase phase_ = Phase::idle;
    void enter(Phase next);
    PageCounts counts_;
    std::uint64_t journaled_entry_bytes_ = 0; // of work units, in the table of them
    std::shared_ptr<FileWatch const> watch_;
    std::string file_problem_;   // that was seen last
    std::set<std::string> said_; // of what cannot be seen
    std::optional<NodeWatch> node_watch_;
    std::optional<Heartbeat> heartbeat_; // for other nodes
    Durability::Items flushing_items_;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t const begin_ns_;
    std::uint64_t flush_begin_ns_; // when the newest flush noted what was published
    std::uint64_t last_step_ns_;   // when the last step began,
    std::uint64_t this_step_ns_;   // and this one
    std::uint64_t sync_begin_ns_ = 0;
    std::uint64_t pause_ns_ = 0;
    std::uint64_t journal_bytes_seen_ = 0; // before the last pause
    std::size_t next_journaled_ = 0;       // the producer whose rows come first
    bool has_everything_ = false;

    base::Mutex metadata_mutex_;
    std::string metadata_ THALWEG_GUARDED_BY(metadata_mutex_);
    std::atomic<bool> has_metadata_ = false; // that is not journaled yet

    base::Mutex pause_mutex_;
    base::Condition wake_;
    bool looks_now_ THALWEG_GUARDED_BY(pause_mutex_) = false;
    std::atomic<bool> stop_ = false;
    std::exception_ptr error_;
    base::Thread thread_; // last: joined first
};

} // namespace thalweg::dataset
