#include "thalweg/dataset/append/extent_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/huge_pages.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

void set_checksums(PageRecord& record, std::span<std::byte const> stored, std::uint64_t checksum) {
    record.checksum = checksum;
    record.adler32 = base::adler32(1, stored);
}

} // namespace

ExtentWriter::ExtentWriter(OpenRun& run, std::size_t limit_bytes, std::function<void()> const& while_waiting)
    : run_(run), while_waiting_(while_waiting), rules_(run.format->extent_rules()), limit_bytes_(limit_bytes),
      queue_(run.file->write_queue(run.options.queue_depth)), in_huge_pages_(limit_bytes >= base::kHugePageBytes) {}

ExtentWriter::~ExtentWriter() {
    // Buffers must outlive the writes that refer to them, also on the way out of an error.
    std::array<storage::Completion, 16> ignored;
    try {
        while (queue_->in_flight() > 0) queue_->reap(ignored, true);
    } catch (base::Error const&) {
        return; // the queue's own destructor is the last word
    }
}

std::size_t ExtentWriter::with_checksum(std::size_t page_bytes) const {
    return page_bytes + (rules_.page_checksums ? format::kPageChecksumBytes : 0);
}

bool ExtentWriter::has_room(std::size_t size_bytes) const {
    return gathering_ == nullptr || gathering_->buffer.size() - gathering_->filled_bytes >= with_checksum(size_bytes);
}

std::span<std::byte> ExtentWriter::room_for(std::size_t size_bytes) {
    if (gathering_ == nullptr) {
        gathering_ = free_extent();
        gathering_->filled_bytes = rules_.head_bytes;
        auto const wanted =
            std::max<std::size_t>(limit_bytes_ + base::kMiB, rules_.head_bytes + with_checksum(size_bytes));
        if (gathering_->buffer.size() < wanted) gathering_->buffer = base::AlignedBuffer(wanted, base::PageSize::huge);
    }
    return gathering_->buffer.bytes().subspan(gathering_->filled_bytes);
}

void ExtentWriter::add(PageRecord record) {
    auto const stored = gathering_->buffer.bytes().subspan(gathering_->filled_bytes, record.stored_bytes);
    add_with_checksum(record, stored, base::xxh3(stored));
}

void ExtentWriter::add_with_checksum(PageRecord record, std::span<std::byte const> stored, std::uint64_t checksum) {
    auto& extent = *gathering_;
    THALWEG_ASSERT(with_checksum(record.stored_bytes) <= extent.buffer.size() - extent.filled_bytes,
                   "a page fits into the extent that is gathered");
    set_checksums(record, stored, checksum);
    if (rules_.equal_pages_once && add_to_equal(record, stored)) return;
    auto* const place = extent.buffer.data() + extent.filled_bytes;
    if (stored.data() != place) std::memmove(place, stored.data(), stored.size()); // one in front of it was equal
    record.offset = extent.filled_bytes; // within the extent, until it has a place
    extent.filled_bytes += record.stored_bytes;
    if (rules_.page_checksums) {
        std::memcpy(place + record.stored_bytes, &record.checksum, format::kPageChecksumBytes);
        extent.filled_bytes += format::kPageChecksumBytes;
    }
    extent.pages.push_back(record);
}

// Nothing is announced before its bytes are written: the page goes with the extent that has the other one, if that is
// still on its way.
bool ExtentWriter::add_to_equal(PageRecord& record, std::span<std::byte const> stored) {
    if (record.cluster != cluster_) offsets_.clear();
    cluster_ = record.cluster;
    equal_pages_.begin_cluster(record.cluster);
    auto const place = equal_pages_.find(record.checksum, stored);
    if (!place) {
        equal_pages_.add(record.checksum, stored, {gathering_->number, gathering_->filled_bytes});
        return false;
    }
    record.equal = 1;
    record.offset = place->offset;
    if (place->extent == gathering_->number) {
        gathering_->pages.push_back(record);
        return true;
    }
    record.offset += offsets_.at(place->extent);
    auto const extent = std::find_if(extents_.begin(), extents_.end(), [&](auto const& each) {
        return each->number == place->extent && each->in_flight;
    });
    if (extent != extents_.end())
        (*extent)->pages.push_back(record);
    else
        reaped_.push_back(record);
    return true;
}

bool ExtentWriter::write_in_place(PageRecord record, std::span<std::byte const> page) {
    check_writes();
    std::span const padded(page.data(), base::round_up(page.size(), base::kBlockBytes));
    auto const offset = run_.ledger->claim(padded.size(), while_waiting_);
    if (!offset) return false;
    auto* const extent = free_extent();
    set_checksums(record, page, base::xxh3(page));
    record.offset = 0;
    extent->pages.assign(1, record);
    submit(*extent, padded, *offset);
    return true;
}

ExtentWriter::Extent* ExtentWriter::free_extent() {
    while (free_.empty() && extents_.size() > run_.options.queue_depth) reap(true, reaped_);
    if (free_.empty()) {
        extents_.push_back(std::make_unique<Extent>());
        free_.push_back(extents_.back().get());
    }
    auto* const extent = free_.back();
    free_.pop_back();
    extent->number = ++extents_begun_;
    extent->filled_bytes = 0;
    extent->pages.clear();
    return extent;
}

bool ExtentWriter::flush() {
    if (gathering_ == nullptr) return true;
    check_writes();
    if (gathering_->pages.empty()) { // all that came was equal to what is elsewhere
        free_.push_back(std::exchange(gathering_, nullptr));
        return true;
    }
    auto const padded = gathering_->buffer.bytes().first(base::round_up(gathering_->filled_bytes, base::kBlockBytes));
    if (!asked_for_huge_pages_ && padded.size() >= base::kHugePageBytes) {
        asked_for_huge_pages_ = true;
        in_huge_pages_ = base::is_in_huge_pages(padded);
    }
    // Else it ends with the bytes of pages that were before in this buffer, or that were equal to others.
    std::ranges::fill(padded.subspan(gathering_->filled_bytes), std::byte{0});
    auto const offset = run_.ledger->claim(padded.size(), while_waiting_);
    if (!offset) return false;
    submit(*std::exchange(gathering_, nullptr), padded, *offset);
    return true;
}

void ExtentWriter::submit(Extent& extent, std::span<std::byte const> padded, std::uint64_t offset) {
    THALWEG_ASSERT(!extent.pages.empty(), "an extent that is written has pages");
    THALWEG_ASSERT(offset % base::kBlockBytes == 0 && padded.size() % base::kBlockBytes == 0,
                   "an extent is whole blocks");
    for (auto& page : extent.pages) page.offset += offset;
    if (rules_.equal_pages_once) offsets_[extent.number] = offset;
    extent.in_flight = true;
    if (rules_.head_bytes > 0) run_.format->write_extent_head(extent.buffer.bytes().first(padded.size()), offset);
    queue_->submit(offset, padded, reinterpret_cast<std::uint64_t>(&extent));
    ++in_flight_;
}

void ExtentWriter::check_writes() const {
    if (failure_) throw *failure_;
}

void ExtentWriter::reap(bool wait, std::deque<PageRecord>& written) {
    check_writes();
    if (&written != &reaped_ && !reaped_.empty()) {
        written.insert(written.end(), reaped_.begin(), reaped_.end());
        reaped_.clear();
        wait = false;
    }
    std::array<storage::Completion, 16> done;
    auto const count = queue_->reap(done, wait);
    for (auto const& completion : std::span(done).first(count)) {
        THALWEG_ASSERT(in_flight_ > 0, "a write ends once");
        --in_flight_;
        auto* const extent = reinterpret_cast<Extent*>(completion.token); // NOLINT(performance-no-int-to-ptr)
        if (completion.error != 0) {
            base::Message const message{fmt::format("{}: a write of {} pages at offset {} failed", run_.path(),
                                                    extent->pages.size(), extent->pages.front().offset),
                                        std::generic_category().message(completion.error),
                                        "its rows stay in memory until the run is closed or recovered"};
            failure_.emplace(message.str(), completion.error);
            throw *failure_;
        }
        extent->in_flight = false;
        written.insert(written.end(), extent->pages.begin(), extent->pages.end());
        free_.push_back(extent);
    }
}

} // namespace thalweg::dataset
