#include "thalweg/derive/row_filter.h"

#include <cstring>
#include <numeric>

namespace thalweg::derive {
namespace {

void append(Chosen& chosen, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    if (!chosen.empty() && chosen.back().first + chosen.back().count == first)
        chosen.back().count += count;
    else
        chosen.push_back({first, count});
}

} // namespace

Chosen chosen_rows(std::span<std::byte const> mask) {
    Chosen chosen;
    for (std::size_t row = 0; row < mask.size();) {
        auto const begin = row;
        auto const value = mask[row] != std::byte{0};
        while (row < mask.size() && (mask[row] != std::byte{0}) == value) ++row;
        if (value) append(chosen, begin, row - begin);
    }
    return chosen;
}

std::uint64_t count_of(Chosen const& chosen) {
    return std::accumulate(chosen.begin(), chosen.end(), std::uint64_t{0},
                           [](auto sum, auto const& each) { return sum + each.count; });
}

Chosen chosen_elements(Chosen const& items, std::span<std::uint64_t const> lengths, std::uint64_t lengths_per_item) {
    Chosen chosen;
    std::uint64_t list = 0, element = 0;
    auto const until = [&](std::uint64_t end) {
        auto const begin = element;
        for (; list < end; ++list) element += lengths[list];
        return element - begin;
    };
    for (auto const& [first, count] : items) {
        until(first * lengths_per_item);
        auto const begin = element;
        append(chosen, begin, until((first + count) * lengths_per_item));
    }
    return chosen;
}

std::vector<std::byte> chosen_bytes(Chosen const& items, std::span<std::byte const> column, std::size_t item_bytes) {
    std::vector<std::byte> bytes(count_of(items) * item_bytes);
    auto* to = bytes.data();
    for (auto const& [first, count] : items) {
        auto const size = count * item_bytes;
        std::memcpy(to, column.data() + first * item_bytes, size);
        to += size;
    }
    return bytes;
}

} // namespace thalweg::derive
