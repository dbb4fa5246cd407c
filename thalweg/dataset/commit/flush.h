// One flush: the payload is synced, a BARRIER is appended, the journal is synced; an interim footer may follow:
// metadata that shows the clusters which were in the file when the flush began. The syncs run in a thread of their own:
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
    // `interim_footer_share`: of the payload, what interim footers may take of the file.
    Flush(OpenRun& run, JournalWriter& journal, double interim_footer_share);
    ~Flush();

    // Throws what went wrong in the thread.
    bool is_idle();
    // Pages and units that the journal has now are durable when the flush has ended.
    void begin();
    // The next step, where one has ended. True once the BARRIER is durable.
    bool advance();
    void stop();
    void sync_journal();

    // None where the container has none, or they cannot be written any more.
    format::InterimFooters* interim_footers() { return interim_footers_failed_ ? nullptr : interim_footers_.get(); }

  private:
    enum class Step : std::uint8_t { idle, payload, payload_done, journal, journal_done, footer, footer_done };

    static bool is_work(Step step);
    bool begin_interim_footer();
    void write_interim_footer();
    void sync_payload(); // and keys of work units that nodes share
    void go_on_to(Step step);
    void loop();

    OpenRun& run_;
    JournalWriter& journal_;
    double interim_footer_share_;
    std::unique_ptr<format::InterimFooters> interim_footers_;
    std::atomic<bool> interim_footers_failed_ = false; // by the thread
    std::uint64_t last_footer_ns_;                     // when it was begun
    std::uint64_t footer_offset_ = 0;
    std::uint64_t footer_bytes_ = 0; // of all so far
    std::uint64_t covers_bytes_ = 0; // of the journal
    std::uint64_t barrier_end_ = 0;  // in the journal, of the last one

    base::Mutex mutex_;
    base::Condition wake_;
    Step step_ THALWEG_GUARDED_BY(mutex_) = Step::idle;
    bool stop_ THALWEG_GUARDED_BY(mutex_) = false;
    std::exception_ptr error_ THALWEG_GUARDED_BY(mutex_);
    base::Thread thread_; // last: joined first
};

} // namespace thalweg::dataset
