// Announcements of one producer, from all its lanes: puts them on the ring and releases the staging behind them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/staging_memory.h"

namespace thalweg::dataset {

class Announcer {
  public:
    Announcer(Staging const& staging, StagingMemory& memory, std::uint32_t producer)
        : staging_(staging), memory_(memory), producer_(producer), early_(staging.columns()) {}

    // A page of this cluster will be announced.
    void expect(std::uint64_t cluster);
    // No page of it will follow: its end is announced behind the last one.
    void end_cluster(std::uint64_t cluster, std::uint64_t rows, bool by_age);

    // Anything else that belongs on the ring. False where it is full.
    bool announce(PageRecord const& record);
    // Takes those pages off that the ring has room for.
    void announce(std::deque<PageRecord>& pages);
    // Some end of a cluster waits for room on the ring.
    bool has_ends() const;

  private:
    struct PendingCluster {
        std::uint64_t pages = 0;
        std::uint64_t announced = 0; // of them
        std::uint64_t rows = 0;      // 0: it has not ended
        bool by_age = false;
    };

    void release(PageRecord const& page) THALWEG_REQUIRES(mutex_);
    void announce_ends() THALWEG_REQUIRES(mutex_);

    Staging const& staging_;
    StagingMemory& memory_;
    std::uint32_t producer_;
    mutable base::Mutex mutex_; // lanes of several threads announce on one ring
    std::vector<std::vector<PageRecord>>
        early_ THALWEG_GUARDED_BY(mutex_); // by column: announced before a page in front of them
    std::map<std::uint64_t, PendingCluster> ends_ THALWEG_GUARDED_BY(mutex_); // by first row
};

} // namespace thalweg::dataset
