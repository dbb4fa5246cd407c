#include "thalweg/dataset/lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <system_error>

#include "thalweg/base/checksum.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/backoff.h"

namespace thalweg::dataset {
namespace {

// From this size on a raw page goes to the disk straight from staging; smaller ones are gathered first.
constexpr std::size_t kDirectBytes = 256 * base::kKiB;

void set_checksums(PageRecord& record, std::span<std::byte const> stored) {
    record.checksum = base::xxh3(stored);
    record.adler32 = base::adler32(1, stored);
}

} // namespace

void Announcer::expect(std::uint64_t cluster) {
    std::lock_guard const lock(mutex_);
    ++ends_[cluster].pages;
}

void Announcer::end_cluster(std::uint64_t cluster, std::uint64_t rows) {
    std::lock_guard const lock(mutex_);
    ends_[cluster].rows = rows;
    announce_ends();
}

bool Announcer::has_ends() const {
    std::lock_guard const lock(mutex_);
    return std::any_of(ends_.begin(), ends_.end(), [](auto const& each) { return each.second.rows > 0; });
}

void Announcer::announce_ends() {
    while (!ends_.empty()) {
        auto const& [cluster, pending] = *ends_.begin();
        if (pending.rows == 0 || pending.announced < pending.pages) return;
        PageRecord end{};
        end.producer = producer_;
        end.column = kClusterEnd;
        end.first = cluster;
        end.count = static_cast<std::uint32_t>(pending.rows);
        end.cluster = pending.pages;
        if (!staging_.announce(end)) return;
        ends_.erase(ends_.begin());
    }
}

void Announcer::announce(std::deque<PageRecord>& pages) {
    std::lock_guard const lock(mutex_);
    while (!pages.empty() && staging_.announce(pages.front())) {
        auto const page = pages.front();
        pages.pop_front();
        staging_.add(Count::pages, 1);
        staging_.add(Count::stored_bytes, page.stored_bytes);
        staging_.add(Count::paged_bytes, page.count * staging_.column(page.column).item_bytes);
        release(page);
        if (auto const found = ends_.find(page.cluster); found != ends_.end()) ++found->second.announced;
    }
    announce_ends();
}

void Announcer::release(PageRecord const& page) {
    auto& column = staging_.column(page.column);
    auto& early = early_[page.column];
    auto const released = column.released.load(std::memory_order_relaxed);
    if (page.first != released) {
        early.push_back(page);
        return;
    }
    auto end = page.first + page.count;
    while (true) {
        auto const next = std::find_if(early.begin(), early.end(), [&](auto const& each) { return each.first == end; });
        if (next == early.end()) break;
        end += next->count;
        early.erase(next);
    }
    column.released.store(end, std::memory_order_release);
}

Lane::Lane(OpenRun& run, Staging const& staging, Announcer& announcer, std::size_t table, std::uint32_t producer)
    : run_(run), staging_(staging), announcer_(announcer), table_(table), producer_(producer),
      rules_(run.format->extent_rules()), queue_(run.file->write_queue(run.options.queue_depth)),
      gather_limit_bytes_(run.options.staging.page_ring_bytes / 2 / std::max(1u, run.options.seal_threads)),
      extent_limit_bytes_(std::max<std::size_t>(run.options.extent_bytes, run.head.layouts[table].cluster_bytes)) {
    for (std::size_t i = 0; i < run.head.columns[table].size(); ++i) {
        auto const& name = run.head.layouts[table].columns[i].codec;
        auto const& column = run.head.columns[table][i];
        codecs_.push_back(name == "none" ? nullptr : codec::make_codec(name, model::size_bytes(column.scalar)));
    }
    gathered_pages_.resize(codecs_.size());
}

Lane::~Lane() {
    // Buffers must outlive the writes that refer to them, also on the way out of an error.
    std::array<storage::Completion, 16> ignored;
    try {
        while (queue_->in_flight() > 0) queue_->reap(ignored, true);
    } catch (base::Error const&) {
        return; // the queue's own destructor is the last word
    }
}

void Lane::add(SealedPage const& page, std::function<void()> const& while_waiting) {
    check_writes();
    auto const& column = staging_.column(page.column);
    std::span const raw(staging_.item(page.column, page.first), page.count * column.item_bytes);
    PageRecord record{};
    record.producer = producer_;
    record.column = static_cast<std::uint32_t>(page.column);
    record.first = page.first;
    record.count = static_cast<std::uint32_t>(page.count);
    record.stored_bytes = raw.size();
    record.cluster = page.cluster;
    record.sum_before = page.sum_before;
    auto const& layout = run_.head.layouts[table_];
    bool const sums =
        layout.cluster_bytes > 0 && run_.head.columns[table_][page.column].role == model::Column::Role::lengths;
    if (codecs_[page.column] == nullptr && raw.size() >= kDirectBytes && rules_.head_bytes == 0) {
        write_from_staging(record, raw, while_waiting);
    } else {
        add_to_extent(record, sums ? sums_of(raw, page.sum_before) : raw, while_waiting);
    }
    reap(false);
}

std::span<std::byte const> Lane::sums_of(std::span<std::byte const> lengths, std::uint64_t sum_before) {
    sums_.resize(lengths.size() / sizeof(std::uint64_t));
    std::memcpy(sums_.data(), lengths.data(), lengths.size());
    for (auto& sum : sums_) sum = sum_before += sum;
    return std::as_bytes(std::span(sums_));
}

void Lane::add_to_extent(PageRecord record, std::span<std::byte const> raw,
                         std::function<void()> const& while_waiting) {
    auto* const codec = codecs_[record.column].get();
    auto const tail_bytes = rules_.page_checksums ? format::kPageChecksumBytes : 0;
    auto const bound_bytes = codec != nullptr ? codec->bound_bytes(raw.size()) : raw.size();
    auto& extent = room_for(rules_.head_bytes + bound_bytes + tail_bytes, while_waiting);
    if (extent.pages.empty()) extent.filled_bytes = rules_.head_bytes;
    auto const out = extent.buffer.bytes().subspan(extent.filled_bytes);
    if (codec != nullptr) {
        auto const begin_ns = base::thread_cpu_ns();
        record.stored_bytes = codec->encode(raw, out);
        record.encoded = record.stored_bytes > 0 ? 1 : 0;
        staging_.add(Count::encode_ns, base::thread_cpu_ns() - begin_ns);
    }
    if (record.encoded == 0) {
        record.stored_bytes = raw.size();
        std::memcpy(out.data(), raw.data(), raw.size());
    }
    set_checksums(record, out.first(record.stored_bytes));
    record.offset = extent.filled_bytes; // within the extent, until it has a place
    extent.filled_bytes += record.stored_bytes;
    if (rules_.page_checksums) {
        auto const tail = out.subspan(record.stored_bytes, format::kPageChecksumBytes);
        std::memcpy(tail.data(), &record.checksum, format::kPageChecksumBytes);
        extent.filled_bytes += format::kPageChecksumBytes;
    }
    extent.raw_bytes += raw.size();
    extent.pages.push_back(record);
    // Pages that shrink well would fill staging before they fill an extent, and its producer would wait for each write:
    // half of staging - of all of it, and of each column's - is written while the other half fills.
    bool const half_of_column = ++gathered_pages_[record.column] > staging_.column(record.column).buffers / 2;
    bool const enough =
        extent.filled_bytes >= extent_limit_bytes_ || extent.raw_bytes >= gather_limit_bytes_ || half_of_column;
    if (enough) flush(while_waiting);
}

void Lane::write_from_staging(PageRecord record, std::span<std::byte const> raw,
                              std::function<void()> const& while_waiting) {
    // Page buffers are multiples of a block, so the padding behind the page is memory of ours.
    std::span const padded(raw.data(), base::round_up(raw.size(), base::kBlockBytes));
    auto const offset = run_.ledger->claim(padded.size(), while_waiting);
    auto* const extent = free_extent();
    set_checksums(record, raw);
    extent->pages.assign(1, record);
    submit(*extent, padded, offset);
}

Lane::Extent& Lane::room_for(std::size_t size_bytes, std::function<void()> const& while_waiting) {
    if (gathering_ != nullptr && gathering_->buffer.size() - gathering_->filled_bytes < size_bytes)
        flush(while_waiting);
    if (gathering_ == nullptr) {
        gathering_ = free_extent();
        auto const wanted = std::max<std::size_t>(extent_limit_bytes_ + base::kMiB, size_bytes);
        if (gathering_->buffer.size() < wanted) gathering_->buffer = base::AlignedBuffer(wanted);
    }
    return *gathering_;
}

Lane::Extent* Lane::free_extent() {
    while (free_.empty() && extents_.size() > run_.options.queue_depth) reap(true);
    if (free_.empty()) {
        extents_.push_back(std::make_unique<Extent>());
        free_.push_back(extents_.back().get());
    }
    auto* const extent = free_.back();
    free_.pop_back();
    extent->filled_bytes = 0;
    extent->raw_bytes = 0;
    extent->pages.clear();
    return extent;
}

void Lane::flush(std::function<void()> const& while_waiting) {
    if (gathering_ == nullptr) return;
    check_writes();
    auto const padded = gathering_->buffer.bytes().first(base::round_up(gathering_->filled_bytes, base::kBlockBytes));
    auto const offset = run_.ledger->claim(padded.size(), while_waiting); // what it throws leaves everything as it is
    gathered_pages_.assign(gathered_pages_.size(), 0);
    submit(*std::exchange(gathering_, nullptr), padded, offset);
}

void Lane::submit(Extent& extent, std::span<std::byte const> padded, std::uint64_t offset) {
    for (auto& page : extent.pages) page.offset += offset;
    if (rules_.head_bytes > 0) run_.format->write_extent_head(extent.buffer.bytes().first(padded.size()), offset);
    queue_->submit(offset, padded, reinterpret_cast<std::uint64_t>(&extent));
    ++in_flight_;
}

void Lane::check_writes() const {
    if (failure_) throw *failure_;
}

void Lane::reap(bool wait) {
    check_writes();
    std::array<storage::Completion, 16> done;
    auto const count = queue_->reap(done, wait);
    for (auto const& completion : std::span(done).first(count)) {
        --in_flight_;
        auto* const extent = reinterpret_cast<Extent*>(completion.token);
        if (completion.error != 0) {
            base::Message const message{fmt::format("{}: a write of {} pages at offset {} failed", run_.path(),
                                                    extent->pages.size(), extent->pages.front().offset),
                                        std::generic_category().message(completion.error),
                                        "its rows stay in memory until the run is closed or recovered"};
            failure_.emplace(message.str(), completion.error);
            throw *failure_;
        }
        written_.insert(written_.end(), extent->pages.begin(), extent->pages.end());
        free_.push_back(extent);
    }
    announcer_.announce(written_);
    if (!written_.empty() || announcer_.has_ends())
        run_.ledger->check_alive(); // the ring is full: the committer has to empty it
}

void Lane::drain(std::function<void()> const& while_waiting) {
    check_writes();
    flush(while_waiting);
    Backoff backoff;
    while (true) {
        reap(true);
        if (idle() && !announcer_.has_ends()) return;
        if (in_flight_ == 0) backoff.pause();
    }
}

} // namespace thalweg::dataset
