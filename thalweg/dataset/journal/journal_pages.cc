#include "thalweg/dataset/journal/journal_pages.h"

#include <cstring>
#include <limits>

#include "thalweg/dataset/journal/varint.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kEncoded = 1, kChecked = 2, kInCluster = 4;

bool is_checked(PageRecord const& page) { return page.checksum != 0 || page.adler32 != 0; }
bool is_in_cluster(PageRecord const& page) { return page.cluster != 0 || page.sum_before != 0; }

void pack(PageRecord const& page, PageRecord const& before, VarintWriter& out) {
    out.value((page.encoded != 0 ? kEncoded : 0) | (is_checked(page) ? kChecked : 0) |
              (is_in_cluster(page) ? kInCluster : 0));
    out.difference(page.producer, before.producer);
    out.difference(page.column, before.column);
    out.difference(page.first, before.first);
    out.difference(page.count, before.count);
    out.difference(page.offset, before.offset + before.stored_bytes);
    out.difference(page.stored_bytes, before.stored_bytes);
    if (is_checked(page)) {
        out.plain(page.checksum);
        out.plain(page.adler32);
    }
    if (!is_in_cluster(page)) return;
    out.difference(page.cluster, before.cluster);
    out.difference(page.sum_before, before.sum_before);
}

bool fits(std::uint64_t value) { return value <= std::numeric_limits<std::uint32_t>::max(); }

// Returns false if a number is larger than its field.
bool unpack(VarintReader& in, PageRecord const& before, PageRecord& page) {
    auto const flags = in.value();
    auto const producer = in.difference(before.producer), column = in.difference(before.column);
    page.first = in.difference(before.first);
    auto const count = in.difference(before.count);
    page.offset = in.difference(before.offset + before.stored_bytes);
    page.stored_bytes = in.difference(before.stored_bytes);
    page.encoded = (flags & kEncoded) != 0 ? 1 : 0;
    if ((flags & kChecked) != 0) {
        page.checksum = in.plain<std::uint64_t>();
        page.adler32 = in.plain<std::uint32_t>();
    }
    if ((flags & kInCluster) != 0) {
        page.cluster = in.difference(before.cluster);
        page.sum_before = in.difference(before.sum_before);
    }
    if (in.is_bad() || flags > 7 || !fits(producer) || !fits(column) || !fits(count)) return false;
    page.producer = static_cast<std::uint32_t>(producer);
    page.column = static_cast<std::uint32_t>(column);
    page.count = static_cast<std::uint32_t>(count);
    return true;
}

} // namespace

std::vector<PageRecord> pages_in(std::span<std::byte const> bytes) {
    std::vector<PageRecord> pages(bytes.size() / sizeof(PageRecord));
    if (!pages.empty()) std::memcpy(pages.data(), bytes.data(), pages.size() * sizeof(PageRecord));
    return pages;
}

std::vector<std::byte> pack_pages(std::span<PageRecord const> pages) {
    std::vector<std::byte> bytes;
    VarintWriter out(bytes);
    PageRecord before{};
    for (auto const& page : pages) {
        pack(page, before, out);
        before = page;
    }
    return bytes;
}

std::optional<std::vector<PageRecord>> unpack_pages(std::span<std::byte const> bytes) {
    std::vector<PageRecord> pages;
    VarintReader in(bytes);
    PageRecord before{};
    while (!in.is_at_end()) {
        PageRecord page{};
        if (!unpack(in, before, page)) return std::nullopt;
        pages.push_back(page);
        before = page;
    }
    return pages;
}

} // namespace thalweg::dataset
