#include "thalweg/dataset/append/lane.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/checksum.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {
namespace {

// From this size on a raw page goes to the disk straight from staging, unless only a copy would lie in huge pages;
// smaller ones are gathered first.
constexpr std::size_t kDirectBytes = 256 * base::kKiB;

constexpr std::uint64_t kExtentsInMemory = 8; // raw pages of so many have room in shared blocks

constexpr std::size_t kStoredInFlight = 2; // extents of pages that came encoded

// An ordinary cluster is one extent.
constexpr std::uint64_t kMaxClusterExtentBytes = 8 * base::kMiB;

std::size_t extent_bytes(OpenRun const& run, std::size_t table) {
    auto const cluster_bytes = run.head.layouts[table].cluster_bytes;
    auto const one_cluster = cluster_bytes <= kMaxClusterExtentBytes ? cluster_bytes : 0;
    return std::max<std::size_t>(run.options.extent_bytes, one_cluster);
}

} // namespace

Lane::Lane(OpenRun& run, Staging const& staging, StagingMemory const& memory, Announcer& announcer, std::size_t table,
           std::uint32_t producer, std::function<void()> const& while_waiting)
    : run_(run), staging_(staging), memory_(memory), announcer_(announcer), producer_(producer),
      encoder_(run.head.columns[table], run.head.layouts[table]), writer_(run, extent_bytes(run, table), while_waiting),
      extents_have_heads_(run.format->extent_rules().head_bytes > 0), gathered_pages_(staging.columns()),
      gather_limit_bytes_(run.options.staging.page_ring_bytes / 2 / std::max(1u, run.options.seal_threads)) {}

std::span<std::byte const> Lane::raw_of(SealedPage const& page) {
    auto const item_bytes = staging_.column(page.column).item_bytes;
    pieces_.clear();
    if (!staging_.pieces(page.column, page.block, page.first * item_bytes, page.count * item_bytes, pieces_))
        base::fail_data({"the staging memory of a producer cannot be read", "a page is not where it was sealed"});
    if (pieces_.size() == 1) return pieces_[0];
    scratch_.clear();
    for (auto const& piece : pieces_) scratch_.insert(scratch_.end(), piece.begin(), piece.end());
    return scratch_;
}

// Pages that shrink well would fill staging before they fill an extent, and its producer would wait for each write.
std::uint64_t Lane::gather_limit_bytes() const {
    auto const lanes = std::max(1u, run_.options.seal_threads);
    if (!memory_.is_shared()) return std::min(gather_limit_bytes_, memory_.most_bytes() / 2 / lanes);
    return memory_.most_bytes() / kExtentsInMemory / lanes;
}

PageRecord Lane::record_of(SealedPage const& page) const {
    PageRecord record{};
    record.producer = producer_;
    record.column = static_cast<std::uint32_t>(page.column);
    record.first = page.first;
    record.count = static_cast<std::uint32_t>(page.count);
    record.cluster = page.cluster;
    record.sum_before = page.sum_before;
    return record;
}

void Lane::add(SealedPage const& page) {
    writer_.check_writes();
    waiting_.push_back(page);
    static_cast<void>(encode_waiting());
    reap(false);
}

// A page goes off the queue once it is in an extent or on its way: what waiting throws leaves it there.
bool Lane::encode_waiting() {
    waits_for_room_ = false;
    while (!waiting_.empty()) {
        if (encode_next()) continue;
        waits_for_room_ = true;
        return false;
    }
    return true;
}

bool Lane::encode_next() {
    auto const page = waiting_.front();
    auto const raw = raw_of(page);
    auto record = record_of(page);
    bool const in_place =
        encoder_.is_raw(page.column) && raw.size() >= kDirectBytes && !extents_have_heads_ && !memory_.is_shared();
    if (in_place && (memory_.is_in_huge_pages() || !writer_.writes_copies())) {
        record.stored_bytes = raw.size();
        // It begins a block, so the padding behind it is memory of ours.
        if (!writer_.write_in_place(record, raw)) return false;
        waiting_.pop_front();
        return true;
    }
    auto const bound_bytes = encoder_.bound_bytes(page.column, raw.size());
    if (!writer_.has_room(bound_bytes) && !write_gathered()) return false;
    encode(page, raw, writer_.room_for(bound_bytes), record);
    writer_.add(record);
    waiting_.pop_front();
    return !is_extent_due(record, raw.size()) || write_gathered();
}

void Lane::encode(SealedPage const& page, std::span<std::byte const> raw, std::span<std::byte> out,
                  PageRecord& record) {
    trace::Traced traced(trace::Activity::encode_page, run_.path().c_str(), raw.size());
    traced.set_detail(page.column);
    auto const begin_ns = base::thread_cpu_ns();
    auto const encoded = encoder_.encode(page.column, raw, page.sum_before, out);
    staging_.add(Count::encode_ns, base::thread_cpu_ns() - begin_ns);
    record.stored_bytes = encoded.stored_bytes;
    record.encoded = encoded.by_codec ? 1 : 0;
    traced.set_result(encoded.stored_bytes);
}

PageRecord Lane::record_of_stored(SealedPage const& page) const {
    auto record = record_of(page);
    record.stored_bytes = page.stored_bytes;
    record.encoded = 1;
    return record;
}

void Lane::add_stored(SealedPage const& page, std::span<std::byte const> stored) {
    writer_.check_writes();
    std::memcpy(room_for_stored(stored.size()).data(), stored.data(), stored.size());
    auto const record = record_of_stored(page);
    writer_.add(record);
    if (is_extent_due(record, 0)) static_cast<void>(write_gathered()); // nothing of it is in staging
    reap_stored();
}

// Only full extents are written: nothing waits for room in staging behind such a page.
void Lane::add_unbuffered(SealedPage const& page, std::span<std::byte const> raw) {
    writer_.check_writes();
    auto record = record_of(page);
    encode(page, raw, room_for_stored(encoder_.bound_bytes(page.column, raw.size())), record);
    writer_.add(record);
    if (writer_.is_full()) static_cast<void>(write_gathered());
    reap(false);
}

// In the other file a page and its checksum lie as they will lie here.
void Lane::add_run(std::span<SealedPage const> run, PageSource const& from) {
    writer_.check_writes();
    std::size_t size_bytes = 0;
    for (auto const& page : run) size_bytes += page.stored_bytes + format::kPageChecksumBytes;
    auto rest = room_for_stored(size_bytes).first(size_bytes);
    from.read(rest);
    for (std::size_t i = 0; i < run.size(); ++i) {
        auto const stored = rest.first(run[i].stored_bytes);
        auto const checksum = base::xxh3(stored);
        std::uint64_t expected = 0;
        std::memcpy(&expected, rest.data() + stored.size(), sizeof expected);
        if (checksum != expected) from.fail_at(i);
        rest = rest.subspan(stored.size() + format::kPageChecksumBytes);
        writer_.add_with_checksum(record_of_stored(run[i]), stored, checksum);
    }
    if (writer_.is_full()) static_cast<void>(write_gathered());
    reap_stored();
}

// Staging bounds what is in flight of all other pages.
void Lane::reap_stored() {
    reap(false);
    while (writer_.in_flight() > kStoredInFlight) reap(true);
}

// Such a page is nowhere else in this process: its caller has to hear that it has no room.
std::span<std::byte> Lane::room_for_stored(std::size_t size_bytes) {
    while (!writer_.has_room(size_bytes) && !write_gathered()) run_.ledger->check_room();
    return writer_.room_for(size_bytes);
}

// The page is in the extent that is gathered, which is to be written by now.
bool Lane::is_extent_due(PageRecord const& record, std::size_t raw_bytes) {
    gathered_bytes_ += raw_bytes;
    // Half of a column's own blocks is written while the other half fills.
    bool const half_of_column =
        !memory_.is_shared() && ++gathered_pages_[record.column] > staging_.column(record.column).blocks / 2;
    return writer_.is_full() || gathered_bytes_ >= gather_limit_bytes() || half_of_column;
}

bool Lane::write_gathered() {
    if (!writer_.is_gathering()) return true;
    if (!writer_.flush()) return false;
    gathered_pages_.assign(gathered_pages_.size(), 0);
    gathered_bytes_ = 0;
    return true;
}

bool Lane::flush() {
    if (encode_waiting() && write_gathered()) return true;
    waits_for_room_ = true;
    return false;
}

void Lane::reap(bool wait) {
    writer_.reap(wait, written_);
    announcer_.announce(written_);
    if (!written_.empty() || announcer_.has_ends())
        run_.ledger->check_alive(); // the ring is full: the committer has to empty it
}

bool Lane::drain() {
    writer_.check_writes();
    bool const has_room = flush();
    Backoff backoff;
    while (true) {
        reap(true);
        if (!has_room && writer_.in_flight() == 0 && written_.empty()) return false;
        if (idle() && !announcer_.has_ends()) return true;
        if (writer_.in_flight() == 0) backoff.pause();
    }
}

} // namespace thalweg::dataset
