// One path from staging to the file: encode pages, gather them into extents, write, announce.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"
#include "thalweg/dataset/open_run.h"

namespace thalweg::dataset {

// A page that is full (or the last of its column), as it lies in staging.
struct SealedPage {
    std::size_t column = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t cluster = 0;    // its first row; 0 where the container has no clusters
    std::uint64_t sum_before = 0; // of a lengths column: of the lengths in front of the page in its cluster
};

// Announcements of one producer, from all its lanes: puts them on the ring and releases the staging behind them.
class Announcer {
  public:
    Announcer(Staging const& staging, std::uint32_t producer)
        : staging_(staging), producer_(producer), early_(staging.columns()) {}

    // A page of this cluster will be announced.
    void expect(std::uint64_t cluster);
    // No page of it will follow: its end is announced behind the last one.
    void end_cluster(std::uint64_t cluster, std::uint64_t rows);

    // Takes those pages off that the ring has room for.
    void announce(std::deque<PageRecord>& pages);
    // Some end of a cluster waits for room on the ring.
    bool has_ends() const;

  private:
    struct PendingCluster {
        std::uint64_t pages = 0;
        std::uint64_t announced = 0; // of them
        std::uint64_t rows = 0;      // 0: it has not ended
    };

    void release(PageRecord const& page);
    void announce_ends();

    Staging const& staging_;
    std::uint32_t producer_;
    mutable std::mutex mutex_;                     // lanes of several threads announce on one ring
    std::vector<std::vector<PageRecord>> early_;   // by column: announced before a page in front of them
    std::map<std::uint64_t, PendingCluster> ends_; // by first row
};

class Lane {
  public:
    Lane(OpenRun& run, Staging const& staging, Announcer& announcer, std::size_t table, std::uint32_t producer);
    ~Lane();

    // Encodes the page. Its bytes in staging stay as they are until it is announced.
    void add(SealedPage const& page, std::function<void()> const& while_waiting);
    // Starts writing what is gathered.
    void flush(std::function<void()> const& while_waiting);
    // Announces what has been written, as far as the ring has room; with `wait`, waits until something has been written
    // (if anything is in flight).
    void reap(bool wait);
    // Flushes and waits for everything.
    void drain(std::function<void()> const& while_waiting);
    // There is something to write, or to wait for.
    bool has_work() const { return in_flight_ > 0 || gathering_ != nullptr; }
    // Nothing of what was added waits to be announced.
    bool idle() const { return !has_work() && written_.empty(); }

  private:
    struct Extent {
        base::AlignedBuffer buffer; // empty: the page is written from staging
        std::size_t filled_bytes = 0;
        std::size_t raw_bytes = 0; // of its pages, in staging until the extent is written
        std::vector<PageRecord> pages;
    };

    std::span<std::byte const> sums_of(std::span<std::byte const> lengths, std::uint64_t sum_before);
    void add_to_extent(PageRecord record, std::span<std::byte const> raw, std::function<void()> const& while_waiting);
    void write_from_staging(PageRecord record, std::span<std::byte const> raw,
                            std::function<void()> const& while_waiting);
    Extent& room_for(std::size_t size_bytes, std::function<void()> const& while_waiting);
    Extent* free_extent();
    void submit(Extent& extent, std::span<std::byte const> padded, std::uint64_t offset);
    void check_writes() const;

    OpenRun& run_;
    Staging const& staging_;
    Announcer& announcer_;
    std::size_t table_;
    std::uint32_t producer_;
    format::ExtentRules rules_;
    std::vector<std::unique_ptr<codec::Codec>> codecs_; // by column; none where pages are stored raw
    std::vector<std::uint64_t> sums_;                   // of the page that is being encoded
    std::vector<std::unique_ptr<Extent>> extents_;      // outlive the queue, which may still be writing from them
    std::unique_ptr<storage::WriteQueue> queue_;
    std::vector<Extent*> free_;
    Extent* gathering_ = nullptr;
    std::vector<std::uint64_t> gathered_pages_; // by column
    std::size_t gather_limit_bytes_;            // raw
    std::size_t extent_limit_bytes_;            // stored
    std::size_t in_flight_ = 0;
    std::deque<PageRecord> written_;           // and not announced yet: the ring is full
    std::optional<base::SystemError> failure_; // the pages of a failed write are never announced: nothing can go on
};

} // namespace thalweg::dataset
