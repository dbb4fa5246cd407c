// One flush: the payload is synced, a BARRIER is appended, the journal is synced; interim metadata may follow, which
// show what this flush has made durable. The syncs, and what makes these metadata, run in a thread of their own:
// neither producers nor the committer wait for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

class Flush {
  public:
    // `interim`: may be none. `interim_share`: of the payload, what it may take of the file, and of one CPU.
    Flush(OpenRun& run, JournalWriter& journal, std::unique_ptr<format::InterimMetadata> interim, double interim_share);
    ~Flush();

    // Throws what went wrong in the thread.
    bool is_idle();
    // Pages and units that the journal has now are durable when the flush has ended. `rows_appended`: by all producers.
    void begin(std::uint64_t rows_appended);
    // The next step, where one has ended. True once the BARRIER is durable.
    bool advance();
    void stop();
    void sync_journal();

    // None where the container has none, or they cannot be written any more.
    format::InterimMetadata* interim() { return interim_failed_ ? nullptr : interim_.get(); }
    // Interim metadata that were written before that are old: the next ones may take more than their share.
    void set_old_before(std::uint64_t ns) { old_before_ns_ = ns; }

  private:
    enum class Step : std::uint8_t {
        idle,
        payload,
        payload_done,
        journal,
        journal_done,
        interim,      // metadata are made in memory
        interim_done, // their room is claimed
        publish,      // they are written
        publish_done
    };

    static bool is_work(Step step);
    bool is_allowed(std::uint64_t interim_bytes) const;
    bool is_time_for_interim();
    std::uint64_t content_bytes() const { return journal_.total_bytes() - own_bytes_; }
    bool claim_interim();
    void prepare_interim();
    void publish_interim();
    template <class Work> void try_interim(Work const& work);
    void end_interim();
    template <class Record> void append_own(RecordType type, Record const& record);
    void sync_payload(); // and keys of work units that nodes share
    void go_on_to(Step step);
    void loop();

    OpenRun& run_;
    JournalWriter& journal_;
    double interim_share_;
    std::unique_ptr<format::InterimMetadata> interim_;
    std::atomic<bool> interim_failed_ = false; // by the thread
    std::uint64_t const begin_ns_;
    std::uint64_t old_before_ns_ = 0;
    std::uint64_t last_interim_ns_; // when its room was claimed
    std::uint64_t not_before_ns_ = 0;
    std::uint64_t interim_cpu_ns_ = 0;     // of the thread, since the last flush
    std::uint64_t interim_room_bytes_ = 0; // that the prepared ones need
    std::uint64_t interim_offset_ = 0;
    std::uint64_t interim_bytes_ = 0;               // of all so far
    std::uint64_t rows_appended_ = 0;               // when the flush began
    std::uint64_t own_bytes_ = 0;                   // of the journal: records that tell of no row
    std::uint64_t shown_bytes_ = ~std::uint64_t{0}; // of the rest of the journal, that the last ones were made of
    std::uint64_t prepared_bytes_ = 0;              // the same, of those that are under way
    JournalMoment covers_;                          // what the flush makes durable
    std::uint64_t barrier_end_ = 0;                 // in the journal, of the last one

    base::Mutex mutex_;
    base::Condition wake_;
    Step step_ THALWEG_GUARDED_BY(mutex_) = Step::idle;
    bool stop_ THALWEG_GUARDED_BY(mutex_) = false;
    std::exception_ptr error_ THALWEG_GUARDED_BY(mutex_);
    base::Thread thread_; // last: joined first
};

} // namespace thalweg::dataset
