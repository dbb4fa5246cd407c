#include "thalweg/checkpoint/elements.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/assert.h"

namespace thalweg::checkpoint {

std::vector<std::int64_t> packed_strides(PerAxis const& shape, std::uint64_t element_bytes) {
    std::vector<std::int64_t> strides(shape.size());
    auto stride = static_cast<std::int64_t>(element_bytes);
    for (auto axis = shape.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= static_cast<std::int64_t>(shape[axis]);
    }
    return strides;
}

Overlap::Overlap(Box const& page, PerAxis const& page_shape, Memory const& memory, std::uint64_t element_bytes)
    : element_bytes_(element_bytes), data_(memory.data) {
    for (std::size_t i = 0; i < page_shape.size(); ++i) {
        auto const begin = std::max(page.start[i], memory.box.start[i]);
        auto const end = std::min(page.end(i), memory.box.end(i));
        data_ += static_cast<std::int64_t>(begin - memory.box.start[i]) * memory.strides[i];
        axes_.push_back({page_shape[i], begin - page.start[i], end - page.start[i], memory.strides[i]});
    }
    if (axes_.empty()) axes_.push_back({1, 0, 1, static_cast<std::int64_t>(element_bytes)});
    // An axis of which all lies in memory, one step of the axis before behind the other, is one with that.
    for (auto i = axes_.size() - 1; i-- > 0;) {
        auto const& inner = axes_[i + 1];
        auto& outer = axes_[i];
        auto const extent = static_cast<std::int64_t>(inner.extent);
        bool const is_all = inner.first == 0 && inner.end == inner.extent;
        if (!is_all || (outer.stride != extent * inner.stride && outer.end - outer.first > 1)) continue;
        outer = {outer.extent * inner.extent, outer.first * inner.extent, outer.end * inner.extent, inner.stride};
        axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    is_packed_ = axes_.back().stride == static_cast<std::int64_t>(element_bytes);
}

template <class Use> void Overlap::for_rows(std::uint64_t begin, std::uint64_t end, Use const& use) const {
    auto const& last = axes_.back();
    auto at = begin / element_bytes_;
    auto const stop = end / element_bytes_;
    while (at < stop) {
        auto const row = at / last.extent;
        auto const row_begin = row * last.extent;
        auto const next = std::min(stop, row_begin + last.extent);
        std::int64_t step = 0;
        bool is_there = true;
        auto index = row;
        for (auto i = axes_.size() - 1; i-- > 0;) {
            auto const& axis = axes_[i];
            auto const position = index % axis.extent;
            index /= axis.extent;
            is_there = is_there && position >= axis.first && position < axis.end;
            step += (static_cast<std::int64_t>(position) - static_cast<std::int64_t>(axis.first)) * axis.stride;
        }
        auto const first = std::max(at - row_begin, last.first);
        auto const past = std::min(next - row_begin, last.end);
        if (is_there && first < past) {
            auto const within = static_cast<std::int64_t>(first - last.first) * last.stride;
            use((row_begin + first) * element_bytes_, data_ + step + within, past - first);
        }
        at = next;
    }
}

bool Overlap::has_any(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t first = 0, last = 0; // elements of the page
    for (auto const& axis : axes_) {
        first = first * axis.extent + axis.first;
        last = last * axis.extent + axis.end - 1;
    }
    return begin <= last * element_bytes_ && end > first * element_bytes_;
}

void Overlap::to_page(std::uint64_t begin, std::span<std::byte> page) const {
    THALWEG_ASSERT(begin % element_bytes_ == 0, "a piece of a page begins at an element");
    auto filled = begin;
    auto const end = begin + page.size();
    for_rows(begin, end, [&](std::uint64_t at, std::byte const* memory, std::uint64_t count) {
        std::memset(page.data() + (filled - begin), 0, at - filled);
        auto* to = page.data() + (at - begin);
        if (is_packed_) {
            std::memcpy(to, memory, count * element_bytes_);
        } else {
            for (std::uint64_t i = 0; i < count; ++i, memory += axes_.back().stride) {
                std::memcpy(to + i * element_bytes_, memory, element_bytes_);
            }
        }
        filled = at + count * element_bytes_;
    });
    std::memset(page.data() + (filled - begin), 0, end - filled);
}

void Overlap::from_page(std::uint64_t begin, std::span<std::byte const> page) const {
    for_rows(begin, begin + page.size(), [&](std::uint64_t at, std::byte* memory, std::uint64_t count) {
        auto const* from = page.data() + (at - begin);
        if (is_packed_) {
            std::memcpy(memory, from, count * element_bytes_);
        } else {
            for (std::uint64_t i = 0; i < count; ++i, memory += axes_.back().stride) {
                std::memcpy(memory, from + i * element_bytes_, element_bytes_);
            }
        }
    });
}

} // namespace thalweg::checkpoint
