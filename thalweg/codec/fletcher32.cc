#include "thalweg/codec/fletcher32.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::codec {
namespace {

constexpr std::size_t kFletcherBytes = 4;
constexpr std::size_t kWordsAtOnce = 1 << 15; // the sum of sums stays far below 2^64

// One's complement arithmetic: a sum that is not zero stays so, and 65535 stands for its multiples.
std::uint64_t folded(std::uint64_t sum) { return sum == 0 ? 0 : (sum - 1) % 0xffff + 1; }

} // namespace

std::uint32_t fletcher32(std::span<std::byte const> bytes) {
    std::uint64_t sum = 0;
    std::uint64_t sum_of_sums = 0;
    auto const add = [&](unsigned high, unsigned low) {
        sum += high << 8 | low;
        sum_of_sums += sum;
    };
    while (bytes.size() >= 2) {
        auto const words = std::min(bytes.size() / 2, kWordsAtOnce);
        for (std::size_t i = 0; i < words; ++i) {
            add(std::to_integer<unsigned>(bytes[2 * i]), std::to_integer<unsigned>(bytes[2 * i + 1]));
        }
        bytes = bytes.subspan(2 * words);
        sum = folded(sum);
        sum_of_sums = folded(sum_of_sums);
    }
    if (!bytes.empty()) add(std::to_integer<unsigned>(bytes[0]), 0);
    return static_cast<std::uint32_t>(folded(sum_of_sums) << 16 | folded(sum));
}

std::span<std::byte const> check_fletcher32(std::span<std::byte const> bytes) {
    if (bytes.size() < kFletcherBytes) base::fail_data({"its checksum (fletcher32) is cut off"});
    auto const checked = bytes.first(bytes.size() - kFletcherBytes);
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < kFletcherBytes; ++i) {
        stored |= std::to_integer<std::uint32_t>(bytes[checked.size() + i]) << (8 * i);
    }
    auto const computed = fletcher32(checked);
    // HDF5 before 1.6.3 swapped the bytes of each half on little-endian machines, and such files are still read.
    auto const swapped = (computed & 0x00ff00ffu) << 8 | (computed >> 8 & 0x00ff00ffu);
    if (stored != computed && stored != swapped) {
        base::fail_data({fmt::format("its checksum (fletcher32) is {:08x}", computed),
                         fmt::format("{:08x} was written: the bytes are damaged", stored)});
    }
    return checked;
}

} // namespace thalweg::codec
