// The committer: one thread that learns where pages lie and appends that to the journal. It touches facts, no payload.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/cluster_collector.h"
#include "thalweg/dataset/intake.h"
#include "thalweg/dataset/open_run.h"

namespace thalweg::dataset {

struct CommitOptions {
    std::uint64_t flush_interval_ns = 1'000'000'000; // payload synced, then a BARRIER in the journal
    double interim_footer_share = 0.01;              // of the payload: what interim footers may take of the file
    std::uint64_t allocate_ahead_bytes = 256 << 20;  // claims beyond what is allocated wait
    std::uint64_t rows_budget_bytes = 16 << 20;      // journaled rows of slow streams, each interval
};

struct ProducerStatus {
    std::size_t slot = 0;
    std::size_t table = 0;
    base::ProcessId process;
    SlotState state = SlotState::free;
    std::uint64_t rows = 0;
    std::vector<std::uint64_t> counts; // by Count
    double staging_fill = 0;           // of the fullest column, 0 to 1
    bool died = false;
    // By column: the first so many items would survive a power cut. Empty: there was no flush yet.
    std::vector<std::uint64_t> durable_items = {};
};

struct CommitStatus {
    std::vector<ProducerStatus> producers;
    std::uint64_t pages = 0;
    std::uint64_t claimed_bytes = 0;
    std::uint64_t journal_bytes = 0;
    std::uint64_t durable_lag_ns = 0; // how old the newest durable state is: what a power cut would cost
    std::uint64_t sync_ns = 0;        // of the last sync
    std::uint64_t cpu_ns = 0;         // of the committer's thread
    std::string memory;               // where that of the producers lies: /dev/shm, or a folder and why
    std::string failure;              // empty: well
};

class Committer {
  public:
    // Starts the thread. `reserve_bytes` of (pages so far) are kept free behind what is allocated, for the metadata,
    // and room for what is published and in no page yet.
    Committer(OpenRun& run, JournalWriter journal, CommitOptions const& options,
              std::function<std::uint64_t(PageCounts const&)> reserve_bytes);
    ~Committer();

    // Producers that are neither finished nor dead.
    std::vector<ProducerStatus> unfinished() const;
    CommitStatus status() const;

    // Ends the thread, journals everything that is left, syncs payload and journal, and gives the journal back.
    // Throws what went wrong in the thread.
    JournalWriter finish();
    void stop();

  private:
    // One flush: the payload is synced, a BARRIER is appended, the journal is synced. The syncs run in a thread of
    // their own: neither producers nor the committer wait for the disk.
    // An interim footer may follow: metadata that shows the clusters which were in the file when the flush began.
    enum class Sync : std::uint8_t {
        idle,
        payload,
        payload_done,
        journal,
        journal_done,
        interim_footer,
        interim_footer_done
    };

    void run();
    void step();
    void admit();
    void drain();
    void look_for_dead();
    void settle(ProducerIntake& producer, bool died);
    void drop_settled();
    void allocate();
    std::uint64_t unwritten_bytes() const;
    void journal_rows();
    void note_covered();
    void advance_flush(std::uint64_t now);
    void end_flush(std::uint64_t now);
    bool begin_interim_footer();
    void try_interim_footer();
    void reserve_journal();
    static bool is_work(Sync sync);
    void sync_loop();
    ProducerStatus status_of(ProducerIntake const& producer) const;

    OpenRun& run_;
    JournalWriter journal_;
    CommitOptions options_;
    std::function<std::uint64_t(PageCounts const&)> reserve_bytes_;
    std::unique_ptr<format::InterimFooters> interim_footers_; // none: the container has none
    ClusterCollector clusters_;
    std::uint64_t interim_footer_offset_ = 0;
    std::uint64_t interim_footer_bytes_ = 0; // of all so far
    std::atomic<bool> interim_footers_failed_ = false;

    // Of the committer's thread.
    std::size_t slots_seen_ = 0;
    std::vector<std::size_t> waiting_; // slots seen, whose producers have no staging yet
    std::uint64_t next_flush_ns_ = 0;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t flush_begin_ns_ = 0;
    std::uint64_t flushes_ = 0;
    std::uint64_t flush_covers_bytes_ = 0;
    std::uint64_t lengths_pages_ = 0; // among pages_
    std::uint64_t allocation_bytes_;
    std::uint64_t room_end_ = 0;      // allocated up to here, for what is claimed and for the metadata
    std::uint64_t settled_bytes_ = 0; // of rows that no page held when their producer was settled
    std::string space_error_;

    using ItemsBySlot = std::map<std::size_t, std::vector<std::uint64_t>>;
    ItemsBySlot journaled_items_; // as it was when the newest flush began, and of all that have settled
    ItemsBySlot flushing_items_;

    mutable base::Mutex mutex_; // guards the next three against status()
    std::vector<std::unique_ptr<ProducerIntake>> producers_;
    std::vector<ProducerStatus> ended_;
    ItemsBySlot durable_items_;

    std::atomic<std::uint64_t> pages_ = 0;
    std::atomic<std::uint64_t> cpu_ns_ = 0;
    std::atomic<std::uint64_t> durable_ns_ = 0;
    std::atomic<std::uint64_t> sync_ns_ = 0;
    std::atomic<std::uint64_t> journal_bytes_ = 0;

    base::Mutex sync_mutex_; // guards the next four
    base::Condition sync_wake_;
    Sync sync_ = Sync::idle;
    bool sync_stop_ = false;
    std::exception_ptr sync_error_;

    std::atomic<bool> stop_ = false;
    std::exception_ptr error_;
    base::Thread sync_thread_;
    base::Thread thread_;
};

} // namespace thalweg::dataset
