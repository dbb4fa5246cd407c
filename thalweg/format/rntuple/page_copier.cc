#include "thalweg/format/rntuple/page_copier.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/format.h"
#include "thalweg/format/rntuple/container/tfile.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::uint64_t kEnoughBytes = 4 * base::kMiB;       // of one read, but for larger pages
constexpr std::size_t kKeyBytes = 8 * base::kMiB;            // and of a key
constexpr std::size_t kKeysAtOnce = 3;                       // one is read, others are on their way
constexpr std::uint64_t kMaxCopiedBytes = 1020 * base::kMiB; // a key holds 1 GiB at most

std::uint64_t begin_of(PageDescription const& page) { return page.locator.offset; }

std::uint64_t end_of(PageDescription const& page) {
    return page.locator.offset + page.locator.stored_bytes + (page.checksum ? kPageChecksumBytes : 0);
}

void check_place(storage::Storage const& from, PageDescription const& page, std::string const& what) {
    auto const offset = begin_of(page), stored_bytes = page.locator.stored_bytes;
    auto const fail = [&](std::string const& why) {
        base::fail_data(
            {fmt::format("{}, {}: the page at offset {} cannot be copied", from.path(), what, offset), why});
    };
    if (stored_bytes > kMaxCopiedBytes) fail(fmt::format("{} bytes are more than one key holds", stored_bytes));
    auto const size = from.size();
    if (offset > size || end_of(page) > size) fail(fmt::format("the file ends at {}", size));
}

void check_content(storage::Storage const& from, PageDescription const& page, std::span<std::byte const> bytes,
                   std::string const& what) {
    std::uint64_t checksum = 0;
    auto const stored = bytes.first(page.locator.stored_bytes);
    std::memcpy(&checksum, bytes.data() + stored.size(), sizeof checksum);
    if (base::xxh3(stored) == checksum) return;
    base::fail_data({fmt::format("{}, {}: the page at offset {} cannot be copied", from.path(), what, begin_of(page)),
                     "its checksum does not fit: it is damaged"});
}

// How many of the next pages lie one behind the other, and are read at once.
std::size_t stretch_of(std::span<PageDescription* const> pages, std::uint64_t& end) {
    auto const begin = begin_of(*pages.front());
    std::size_t count = 0;
    for (auto const* page : pages) {
        bool const follows = count == 0 || begin_of(*page) <= end;
        bool const overlaps = count > 0 && begin_of(*page) < end; // it cannot be parted from what is before it
        if (!follows || (!overlaps && count > 0 && end_of(*page) - begin > kEnoughBytes)) break;
        end = std::max(end, end_of(*page));
        ++count;
    }
    return count;
}

} // namespace

PageCopier::PageCopier(storage::Storage& out, std::uint64_t offset, std::uint64_t seconds)
    : out_(out), offset_(offset), seconds_(seconds), queue_(out.write_queue(kKeysAtOnce)) {
    for (std::size_t i = 0; i < kKeysAtOnce; ++i) {
        buffers_.emplace_back();
        free_.push_back(i);
    }
}

PageCopier::~PageCopier() = default;

void PageCopier::copy(storage::Storage const& from, ClusterDescription& cluster, std::string const& what) {
    std::vector<PageDescription*> pages;
    for (auto& column : cluster.columns) {
        for (auto& page : column.pages) {
            check_place(from, page, what);
            pages.push_back(&page);
        }
    }
    std::ranges::stable_sort(pages, {}, [](auto const* page) { return begin_of(*page); });
    for (Pages rest = pages; !rest.empty();) {
        std::uint64_t end = 0;
        auto const stretch = rest.first(stretch_of(rest, end));
        copy_stretch(from, stretch, end, what);
        rest = rest.subspan(stretch.size());
    }
}

void PageCopier::copy_stretch(storage::Storage const& from, Pages pages, std::uint64_t end, std::string const& what) {
    auto const begin = begin_of(*pages.front());
    auto const [place, bytes] = make_room(end - begin);
    from.read(begin, bytes);
    for (auto* page : pages) {
        auto const inside = begin_of(*page) - begin;
        if (page->checksum) check_content(from, *page, bytes.subspan(inside), what);
        page->locator.offset = place + inside;
    }
    copied_bytes_ += bytes.size();
}

PageCopier::Room PageCopier::make_room(std::size_t size_bytes) {
    if (filled_bytes_ > kBlobHeadBytes && filled_bytes_ + size_bytes > kKeyBytes) flush();
    if (filled_bytes_ == 0) {
        while (free_.empty()) reap();
        gathering_ = free_.back();
        free_.pop_back();
        filled_bytes_ = kBlobHeadBytes;
    }
    auto& buffer = buffers_[gathering_];
    auto const wanted = base::round_up(filled_bytes_ + size_bytes, base::kBlockBytes);
    if (buffer.size() < wanted) {
        THALWEG_ASSERT(filled_bytes_ == kBlobHeadBytes, "a buffer grows while it is empty");
        buffer = base::AlignedBuffer(std::max<std::size_t>(wanted, kKeyBytes));
    }
    Room const room{offset_ + filled_bytes_, buffer.bytes().subspan(filled_bytes_, size_bytes)};
    filled_bytes_ += size_bytes;
    return room;
}

void PageCopier::flush() {
    if (filled_bytes_ == 0) return;
    auto const key = buffers_[gathering_].bytes().first(base::round_up(filled_bytes_, base::kBlockBytes));
    std::ranges::fill(key.subspan(filled_bytes_), std::byte{0});
    std::ranges::fill(key.first(kBlobHeadBytes), std::byte{0});
    write_blob_head(key, offset_, seconds_);
    queue_->submit(offset_, key, gathering_);
    offset_ += key.size();
    filled_bytes_ = 0;
}

void PageCopier::reap() {
    std::array<storage::Completion, kKeysAtOnce> done;
    auto const count = queue_->reap(done, true);
    for (auto const& completion : std::span(done).first(count)) {
        if (completion.error != 0) base::fail_system({"cannot write to " + out_.path()}, completion.error);
        THALWEG_ASSERT(free_.size() < buffers_.size(), "a buffer is free, or a key of it is on its way");
        free_.push_back(completion.token);
    }
}

std::uint64_t PageCopier::finish() {
    flush();
    while (queue_->in_flight() > 0) reap();
    return offset_;
}

} // namespace thalweg::format::rntuple
