#include "tests/simulator/image.h"

#include <algorithm>
#include <cstring>

namespace thalweg::simulator {

void Image::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        auto const within = offset % kPageBytes;
        auto const count = std::min<std::uint64_t>(kPageBytes - within, bytes.size());
        auto const index = offset / kPageBytes;
        if (index < pages_.size() && pages_[index])
            std::memcpy(bytes.data(), pages_[index]->data() + within, count);
        else
            std::memset(bytes.data(), 0, count);
        offset += count;
        bytes = bytes.subspan(count);
    }
}

void Image::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const within = offset % kPageBytes;
        auto const count = std::min<std::uint64_t>(kPageBytes - within, bytes.size());
        std::memcpy(page(offset / kPageBytes).data() + within, bytes.data(), count);
        offset += count;
        bytes = bytes.subspan(count);
    }
    size_bytes_ = std::max(size_bytes_, offset);
}

void Image::resize(std::uint64_t size_bytes) {
    if (size_bytes < size_bytes_) {
        auto const pages = (size_bytes + kPageBytes - 1) / kPageBytes;
        if (pages < pages_.size()) pages_.resize(pages);
        if (auto const within = size_bytes % kPageBytes; within > 0 && pages == pages_.size() && pages_[pages - 1])
            std::memset(page(pages - 1).data() + within, 0, kPageBytes - within);
    }
    size_bytes_ = size_bytes;
}

bool Image::same_bytes(Image const& other) const {
    if (size_bytes_ != other.size_bytes_) return false;
    Page mine, theirs;
    for (std::size_t i = 0; i < std::max(pages_.size(), other.pages_.size()); ++i) {
        read(i * kPageBytes, mine);
        other.read(i * kPageBytes, theirs);
        if (mine != theirs) return false;
    }
    return true;
}

Image::Page& Image::page(std::uint64_t index) {
    if (index >= pages_.size()) pages_.resize(index + 1);
    auto& page = pages_[index];
    if (!page)
        page = std::make_shared<Page>(Page{});
    else if (page.use_count() > 1)
        page = std::make_shared<Page>(*page);
    return *page;
}

} // namespace thalweg::simulator
