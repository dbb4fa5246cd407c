#include "thalweg/storage/far_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/storage/failure.h"

namespace thalweg::storage {
namespace {

// A gap of up to so many bytes is read, too, because that costs less than another request.
constexpr std::uint64_t kWorthReading = 16 << 10;

std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
    std::ranges::sort(ranges, {}, &ByteRange::offset);
    std::vector<ByteRange> all;
    for (auto const& range : ranges) {
        if (range.size_bytes == 0) continue;
        auto const end = range.offset + range.size_bytes;
        if (all.empty() || range.offset > all.back().offset + all.back().size_bytes + kWorthReading)
            all.push_back(range);
        else
            all.back().size_bytes = std::max(all.back().size_bytes, end - all.back().offset);
    }
    return all;
}

} // namespace

std::vector<std::string> FarFile::ask(std::vector<ByteRange> const& ranges) const {
    auto given = read_ranges_(ranges);
    if (given.size() != ranges.size()) {
        base::fail_system({fmt::format("{} cannot be read", name_),
                           fmt::format("{} ranges were asked for, and {} came", ranges.size(), given.size())});
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (given[i].size() == ranges[i].size_bytes) continue;
        base::fail_system(
            {fmt::format("{} cannot be read", name_),
             fmt::format("of {} bytes at offset {} came {}", ranges[i].size_bytes, ranges[i].offset, given[i].size())});
    }
    return given;
}

std::shared_ptr<void const> FarFile::fetch(std::vector<ByteRange> ranges) const {
    std::erase_if(ranges, [&](auto const& range) {
        return range.offset > size_bytes_ || range.size_bytes > size_bytes_ - range.offset;
    });
    auto const all = joined(std::move(ranges));
    if (all.empty()) return {};
    auto kept = std::make_shared<std::vector<Bytes>>();
    for (auto& bytes : ask(all)) kept->push_back(std::make_shared<std::string const>(std::move(bytes)));
    base::Lock const lock(mutex_);
    std::erase_if(fetched_, [](auto const& each) { return each.second.expired(); });
    for (std::size_t i = 0; i < all.size(); ++i) fetched_.emplace(all[i].offset, (*kept)[i]);
    return kept;
}

FarFile::Bytes FarFile::fetched(std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t& begin) const {
    base::Lock const lock(mutex_);
    // Ranges of different requests may overlap: the nearest one in front need not be long enough.
    for (auto it = fetched_.upper_bound(offset); it != fetched_.begin();) {
        --it;
        auto bytes = it->second.lock();
        if (!bytes || it->first + bytes->size() < offset + size_bytes) continue;
        begin = it->first;
        return bytes;
    }
    return {};
}

void FarFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    if (offset > size_bytes_ || bytes.size() > size_bytes_ - offset)
        fail_past_end(name_, offset, bytes.size(), size_bytes_);
    std::uint64_t begin = 0;
    if (auto const found = fetched(offset, bytes.size(), begin)) {
        THALWEG_ASSERT(begin <= offset && offset - begin + bytes.size() <= found->size(),
                       "a fetched range holds what is read");
        std::memcpy(bytes.data(), found->data() + (offset - begin), bytes.size());
        return;
    }
    auto const given = ask({{offset, bytes.size()}});
    std::memcpy(bytes.data(), given[0].data(), bytes.size());
}

} // namespace thalweg::storage
