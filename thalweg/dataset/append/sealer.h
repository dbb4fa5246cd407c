// Seals the pages of one producer: in the thread that appends, or in threads of its own.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/lane.h"

namespace thalweg::dataset {

class Sealer {
  public:
    Sealer(OpenRun& run, Staging const& staging, StagingMemory& memory, std::size_t table, std::uint32_t producer);
    ~Sealer();

    // Takes the page, also if the disk has no room at present: it is written once there is.
    void seal(SealedPage const& page);
    // A page that is encoded already. Its bytes are copied; nothing of it is in staging.
    void add_stored(SealedPage const& page, std::span<std::byte const> stored);
    // Several of one cluster, from another file.
    void add_run(std::span<SealedPage const> run, PageSource const& from);
    // A page that lies in the caller's memory, and is encoded there and then.
    void add_unbuffered(SealedPage const& page, std::span<std::byte const> raw);
    // All of these are written and announced afterwards.
    void drain_stored();
    // No page of the cluster will follow.
    void end_cluster(std::uint64_t cluster, std::uint64_t rows, bool by_age);
    // The end of a unit: by way of the sealer, because its threads announce on the same ring. False where it is full.
    bool announce(PageRecord const& end) { return announcer_.announce(end); }
    // A cluster has ended, and that is not announced yet.
    bool has_ends() const { return announcer_.has_ends(); }
    // For a caller that waits for staging to be released: writes what is gathered, and waits a moment. Throws
    // base::SystemError if the disk has no room.
    void make_progress();
    // Everything sealed is written and announced afterwards. Returns false, without what has no room, if the disk has
    // none at present. Throws what went wrong in any thread.
    bool drain();
    // From here on no wait is interrupted by what `OpenRun::while_waiting` throws.
    void go_on_uninterrupted() { while_waiting_ = nullptr; }

  private:
    Lane& stored_lane();
    void work(Lane& lane);
    // Comes and goes with the lock held, except where the lane throws: then it is not.
    void step(Lane& lane, base::Lock& lock) THALWEG_UNCHECKED_LOCKS;
    void rethrow() THALWEG_REQUIRES(mutex_);
    bool drain_threads();

    OpenRun& run_;
    Staging const& staging_;
    StagingMemory const& memory_;
    std::size_t table_;
    std::uint32_t producer_;
    std::function<void()> while_waiting_; // the run's, called in the thread that appends
    std::function<void()> nothing_;       // called in the threads of this sealer
    Announcer announcer_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::unique_ptr<Lane> stored_lane_; // of the thread that appends, where threads have all others

    base::Mutex mutex_;
    base::Condition wake_;
    std::deque<SealedPage> jobs_ THALWEG_GUARDED_BY(mutex_);
    std::size_t busy_ THALWEG_GUARDED_BY(mutex_) = 0;         // lanes that hold pages not yet announced
    std::size_t without_room_ THALWEG_GUARDED_BY(mutex_) = 0; // of these: nothing of theirs is in flight
    bool flush_wanted_ THALWEG_GUARDED_BY(mutex_) = false;
    bool stop_ THALWEG_GUARDED_BY(mutex_) = false;
    std::exception_ptr error_ THALWEG_GUARDED_BY(mutex_);
    std::vector<base::Thread> threads_; // last: joined first
};

} // namespace thalweg::dataset
