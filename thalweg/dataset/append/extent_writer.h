// Gathers encoded pages into extents, claims room for these, and writes them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/dataset/append/equal_pages.h"
#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

// Not thread-safe.
class ExtentWriter {
  public:
    // An extent is written when it holds `limit_bytes`, or earlier by `flush`. `while_waiting` is called while a claim
    // waits, and must outlive this.
    ExtentWriter(OpenRun& run, std::size_t limit_bytes, std::function<void()> const& while_waiting);
    ~ExtentWriter();

    // The extent that is being gathered, if any, has room for such a page. If not: `flush` first.
    bool has_room(std::size_t size_bytes) const;
    // That room; valid until the next call.
    std::span<std::byte> room_for(std::size_t size_bytes);
    // The page lies at the beginning of that room, in `record.stored_bytes`. Where an equal one is in its cluster, and
    // the container allows it, it gets the place of that one.
    void add(PageRecord record);
    // The page lies anywhere in that room, behind those that were added since, and this is its XXH3.
    void add_with_checksum(PageRecord record, std::span<std::byte const> stored, std::uint64_t checksum);
    // What was gathered has the size of an extent.
    bool is_full() const { return gathering_ != nullptr && gathering_->filled_bytes >= limit_bytes_; }

    // Whether extents lie in huge pages. A write of a copy there is faster than one of a page that lies in ordinary
    // pages. As long as no extent was full, this is not known yet, and the answer is true.
    bool writes_copies() const { return in_huge_pages_; }
    // The page as it lies in memory that stays as it is until the page is written, and is ours up to the next block.
    // Returns false, and has done nothing, if the disk has no room at present.
    bool write_in_place(PageRecord record, std::span<std::byte const> page);

    // Starts writing what is gathered. Returns false, and leaves everything as it is, if the disk has no room at
    // present; so does what waiting throws.
    bool flush();
    // Appends what has been written since the last call to `written`; with `wait`, waits until something has been
    // (if anything is in flight). Throws base::SystemError where a write failed, and from then on.
    void reap(bool wait, std::deque<PageRecord>& written);

    bool is_gathering() const { return gathering_ != nullptr; }
    std::size_t in_flight() const { return in_flight_; }
    void check_writes() const;

  private:
    struct Extent {
        base::AlignedBuffer buffer; // empty: its page is written in place
        std::uint64_t number = 0;   // counted over all extents
        bool in_flight = false;
        std::size_t filled_bytes = 0;
        std::vector<PageRecord> pages;
    };

    std::size_t with_checksum(std::size_t page_bytes) const;
    Extent* free_extent();
    bool add_to_equal(PageRecord& record, std::span<std::byte const> stored);
    void submit(Extent& extent, std::span<std::byte const> padded, std::uint64_t offset);

    OpenRun& run_;
    std::function<void()> const& while_waiting_;
    format::ExtentRules rules_;
    std::size_t limit_bytes_;
    std::vector<std::unique_ptr<Extent>> extents_; // outlive the queue, which may still be writing from them
    std::unique_ptr<storage::WriteQueue> queue_;
    std::vector<Extent*> free_;
    Extent* gathering_ = nullptr;
    std::size_t in_flight_ = 0;
    bool in_huge_pages_;
    bool asked_for_huge_pages_ = false;
    std::uint64_t extents_begun_ = 0;
    EqualPages equal_pages_;
    std::unordered_map<std::uint64_t, std::uint64_t> offsets_; // in the file, of extents with pages of the cluster
    std::uint64_t cluster_ = 0;
    std::deque<PageRecord> reaped_;            // and not asked for yet
    std::optional<base::SystemError> failure_; // the pages of a failed write are never announced: nothing can go on
};

} // namespace thalweg::dataset
