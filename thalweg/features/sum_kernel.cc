#include "thalweg/features/sum_kernel.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace thalweg::features {
namespace {

std::int32_t scalar_sum_blocks(std::uint16_t const* samples, std::size_t blocks, unsigned shift, std::uint16_t mask,
                               std::int32_t* sums) {
    std::int32_t largest = std::numeric_limits<std::int16_t>::min();
    auto const size = std::size_t{1} << shift;
    for (std::size_t block = 0; block < blocks; ++block) {
        std::int32_t sum = 0;
        for (auto const* sample = samples + block * size; sample != samples + (block + 1) * size; ++sample) {
            auto const level = level_of(*sample, mask);
            sum += level;
            largest = std::max(largest, level);
        }
        sums[block] = sum;
    }
    return largest;
}

std::size_t scalar_find_rise(std::int32_t const* sums, std::size_t from, std::size_t end, std::int32_t limit) {
    for (auto i = from; i < end; ++i) {
        auto const* before = sums + i - kRiseBlocks;
        if (sums[i] - *std::min_element(before, sums + i) > limit) return i;
    }
    return end;
}

} // namespace

SumKernel const kScalarSums = {"scalar", scalar_sum_blocks, scalar_find_rise};

std::span<SumKernel const> sum_kernels() {
    static auto const kernels = [] {
        std::vector<SumKernel> usable{kScalarSums};
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx2")) usable.push_back(kAvx2Sums);
#endif
        return usable;
    }();
    return kernels;
}

} // namespace thalweg::features
