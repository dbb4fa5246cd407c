// The inner loops of the codecs, once for each instruction set. All do the same to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::codec {

struct Kernel {
    char const* name;

    // `count` pairs of bytes into `count` first and `count` second ones, and back.
    void (*deinterleave)(std::byte const* pairs, std::byte* first, std::byte* second, std::size_t count);
    void (*interleave)(std::byte const* first, std::byte const* second, std::byte* pairs, std::size_t count);

    // 8 * `groups` bytes into eight bit planes of `groups` bytes each, and back. Plane k begins at k * stride and holds
    // bit k of every byte, the earlier bytes in the lower bits.
    void (*split_bits)(std::byte const* bytes, std::byte* planes, std::size_t stride, std::size_t groups);
    void (*join_bits)(std::byte const* planes, std::size_t stride, std::byte* bytes, std::size_t groups);

    // Bit i of `repeats` says that bytes[i] equals bytes[i - distance]. Reads and marks up to the next multiple of 64;
    // bits from `count` on mean nothing.
    void (*mark_repeats)(std::byte const* bytes, std::size_t count, std::size_t distance, std::uint64_t* repeats);

    // `count` elements (a multiple of 64) of `size` bytes (4 or 8) into `size` runs of bytes that begin `stride` apart,
    // and back. None: halving the elements by the functions above is as fast.
    void (*split_elements)(std::byte const* elements, std::byte* runs, std::size_t stride, std::size_t size,
                           std::size_t count) = nullptr;
    void (*join_elements)(std::byte const* runs, std::size_t stride, std::byte* elements, std::size_t size,
                          std::size_t count) = nullptr;
};

// What this processor can run, slowest first; the scalar one is always there.
std::span<Kernel const* const> usable_kernels();

// The last of them.
Kernel const& best_kernel();

extern Kernel const kScalarKernel;
#if defined(__x86_64__)
extern Kernel const kAvx2Kernel;
extern Kernel const kAvx512Kernel; // with VBMI and GFNI: Ice Lake, Zen 4 and later
#endif

} // namespace thalweg::codec
