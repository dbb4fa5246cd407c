#include "thalweg/storage/overlay.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/queue.h"

namespace thalweg::storage {

Overlay::Overlay(std::shared_ptr<Storage const> file, std::uint64_t tail_begin)
    : file_(std::move(file)), file_bytes_(file_->size()), tail_begin_(tail_begin) {
    THALWEG_ASSERT(tail_begin % base::kBlockBytes == 0, "no block is in front of the tail and in it");
}

void Overlay::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (offset > size() || bytes.size() > size() - offset) fail_past_end(path(), offset, bytes.size(), size());
    while (!bytes.empty()) {
        std::uint64_t count = bytes.size();
        if (offset >= tail_begin_) {
            std::ranges::copy(std::span(tail_).subspan(offset - tail_begin_, count), bytes.begin());
        } else {
            auto const next = blocks_.lower_bound(offset / base::kBlockBytes);
            auto const next_begin = next == blocks_.end() ? tail_begin_ : next->first * base::kBlockBytes;
            if (next_begin <= offset) {
                auto const within = offset - next_begin;
                count = std::min<std::uint64_t>(count, base::kBlockBytes - within);
                std::ranges::copy(std::span(next->second).subspan(within, count), bytes.begin());
            } else {
                count = std::min(count, next_begin - offset);
                read_file(offset, bytes.first(count));
            }
        }
        offset += count;
        bytes = bytes.subspan(count);
    }
}

void Overlay::read_file(std::uint64_t offset, std::span<std::byte> bytes) const {
    auto const there = std::min<std::uint64_t>(bytes.size(), file_bytes_ - std::min(file_bytes_, offset));
    if (there > 0) file_->read(offset, bytes.first(there));
    std::ranges::fill(bytes.subspan(there), std::byte{});
}

Overlay::Block& Overlay::changed_block(std::uint64_t index) {
    auto const [place, is_new] = blocks_.try_emplace(index, base::kBlockBytes);
    if (is_new) read_file(index * base::kBlockBytes, place->second);
    return place->second;
}

void Overlay::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        std::uint64_t count = bytes.size();
        if (offset >= tail_begin_) {
            if (size() - tail_begin_ < offset - tail_begin_ + count) tail_.resize(offset - tail_begin_ + count);
            std::ranges::copy(bytes, tail_.begin() + static_cast<std::ptrdiff_t>(offset - tail_begin_));
        } else {
            auto const within = offset % base::kBlockBytes;
            count = std::min<std::uint64_t>(count, base::kBlockBytes - within);
            std::ranges::copy(bytes.first(count),
                              changed_block(offset / base::kBlockBytes).begin() + static_cast<std::ptrdiff_t>(within));
        }
        offset += count;
        bytes = bytes.subspan(count);
    }
}

void Overlay::resize(std::uint64_t size_bytes) {
    if (size_bytes < tail_begin_)
        base::fail_usage({fmt::format("{} cannot be cut to {} bytes", path(), size_bytes), "it is changed in memory"});
    tail_.resize(size_bytes - tail_begin_);
}

void Overlay::reserve(std::uint64_t offset, std::uint64_t size_bytes) {
    if (auto const end = offset + size_bytes; end > size()) resize(end);
}

std::unique_ptr<WriteQueue> Overlay::write_queue(std::size_t) { return make_synchronous_queue(*this); }

std::uint64_t Overlay::changed_bytes() const { return tail_.size() + blocks_.size() * base::kBlockBytes; }

void Overlay::write_changes_to(Storage& out) const {
    for (auto const& [index, block] : blocks_) out.write(index * base::kBlockBytes, block);
    if (!tail_.empty()) out.write(tail_begin_, tail_);
    out.resize(size());
}

} // namespace thalweg::storage
