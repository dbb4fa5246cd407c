// One path from staging to the file: encode pages, gather them into extents, write, announce.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "thalweg/dataset/append/announcer.h"
#include "thalweg/dataset/append/extent_writer.h"
#include "thalweg/dataset/append/page_source.h"
#include "thalweg/dataset/append/table_encoder.h"

namespace thalweg::dataset {

// A page that is full (or the last of its column), as it lies in staging.
struct SealedPage {
    std::size_t column = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t cluster = 0;      // its first row; 0 where the container has no clusters
    std::uint32_t block = kNoBlock; // in which it begins
    std::uint64_t sum_before = 0;   // of a lengths column: of the lengths in front of the page in its cluster
    std::uint64_t stored_bytes = 0; // where it is encoded already
};

class Lane {
  public:
    // `while_waiting` is called while the lane waits for the committer, and must outlive this.
    Lane(OpenRun& run, Staging const& staging, StagingMemory const& memory, Announcer& announcer, std::size_t table,
         std::uint32_t producer, std::function<void()> const& while_waiting);

    // Takes the page, and encodes it; later, if the disk has no room at present for those in front of it. Its bytes in
    // staging stay as they are until it is announced.
    void add(SealedPage const& page);
    // Encodes the pages that wait for room. Returns false if the disk still has none.
    bool encode_waiting();
    // A page that is encoded already, by the column's codec. Throws base::SystemError if the disk has no room.
    void add_stored(SealedPage const& page, std::span<std::byte const> stored);
    // A page of raw bytes that are not in staging, and that may change when this returns. Throws as `add_stored` does.
    void add_unbuffered(SealedPage const& page, std::span<std::byte const> raw);
    // Several, which are read into the memory from which they are written. Their checksums are compared there.
    void add_run(std::span<SealedPage const> run, PageSource const& from);
    // Starts writing all that was added. Returns false if the disk has no room for it at present.
    bool flush();
    // Announces what has been written, as far as the ring has room; with `wait`, waits until something has been written
    // (if anything is in flight).
    void reap(bool wait);
    // Flushes and waits for everything. Returns false, without what has no room, if the disk has none at present.
    bool drain();
    // There is something to write, or to wait for.
    bool has_work() const { return writer_.in_flight() > 0 || writer_.is_gathering() || !waiting_.empty(); }
    // The disk had no room for what was added when that was last tried, and nothing of it is in flight.
    bool waits_for_room() const { return waits_for_room_ && writer_.in_flight() == 0; }
    // Nothing of what was added waits to be announced.
    bool idle() const { return !has_work() && written_.empty(); }

  private:
    // In one piece; valid until the next call.
    std::span<std::byte const> raw_of(SealedPage const& page);
    std::uint64_t gather_limit_bytes() const;
    bool encode_next();
    void encode(SealedPage const& page, std::span<std::byte const> raw, std::span<std::byte> out, PageRecord& record);
    PageRecord record_of(SealedPage const& page) const;
    PageRecord record_of_stored(SealedPage const& page) const;
    void reap_stored();
    bool write_gathered();
    std::span<std::byte> room_for_stored(std::size_t size_bytes);
    bool is_extent_due(PageRecord const& record, std::size_t raw_bytes);

    OpenRun& run_;
    Staging const& staging_;
    StagingMemory const& memory_;
    Announcer& announcer_;
    std::uint32_t producer_;
    TableEncoder encoder_;
    ExtentWriter writer_;
    bool extents_have_heads_;
    std::vector<std::uint64_t> gathered_pages_; // by column
    std::size_t gathered_bytes_ = 0;            // raw, in staging until the extent is written
    std::size_t gather_limit_bytes_;            // where columns have blocks of their own
    std::vector<std::span<std::byte const>> pieces_;
    std::vector<std::byte> scratch_;
    std::deque<SealedPage> waiting_; // and not encoded yet: those in front of them have no room
    bool waits_for_room_ = false;
    std::deque<PageRecord> written_; // and not announced yet: the ring is full
};

} // namespace thalweg::dataset
