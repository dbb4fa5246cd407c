#include "thalweg/codec/transposer.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/assert.h"

namespace thalweg::codec {
namespace {

// A tile stays in the first-level cache from step to step. 512 elements fill one cache line of each bit plane.
std::size_t tile_elements_of(std::size_t element_bytes) {
    constexpr std::size_t kTileBytes = 8192;
    return std::clamp<std::size_t>(kTileBytes / element_bytes / 8 * 8, 8, 512);
}

// `count` elements into `size` runs of `count` bytes, `stride` apart. Even sizes halve until two or an odd size is
// left, because one pass over pairs of bytes is what the processor does best. `scratch` holds twice the elements.
void split_bytes(Kernel const& kernel, std::byte const* in, std::byte* out, std::size_t stride, std::size_t size,
                 std::size_t count, std::byte* scratch) {
    if (size == 1) return void(std::memcpy(out, in, count));
    if (kernel.split_elements != nullptr && (size == 4 || size == 8)) {
        std::size_t const at_once = count / 64 * 64;
        kernel.split_elements(in, out, stride, size, at_once);
        in += at_once * size;
        out += at_once;
        count -= at_once;
    }
    if (size == 2) return kernel.deinterleave(in, out, out + stride, count);
    if (size % 2 != 0) {
        for (std::size_t byte = 0; byte < size; ++byte) {
            for (std::size_t i = 0; i < count; ++i) out[byte * stride + i] = in[i * size + byte];
        }
        return;
    }
    std::size_t const half_bytes = size / 2 * count;
    kernel.deinterleave(in, scratch, scratch + half_bytes, half_bytes);
    std::byte* const rest = scratch + 2 * half_bytes;
    split_bytes(kernel, scratch, out, 2 * stride, size / 2, count, rest);
    split_bytes(kernel, scratch + half_bytes, out + stride, 2 * stride, size / 2, count, rest);
}

void join_bytes(Kernel const& kernel, std::byte const* in, std::size_t stride, std::byte* out, std::size_t size,
                std::size_t count, std::byte* scratch) {
    if (size == 1) return void(std::memcpy(out, in, count));
    if (kernel.join_elements != nullptr && (size == 4 || size == 8)) {
        std::size_t const at_once = count / 64 * 64;
        kernel.join_elements(in, stride, out, size, at_once);
        in += at_once;
        out += at_once * size;
        count -= at_once;
    }
    if (size == 2) return kernel.interleave(in, in + stride, out, count);
    if (size % 2 != 0) {
        for (std::size_t byte = 0; byte < size; ++byte) {
            for (std::size_t i = 0; i < count; ++i) out[i * size + byte] = in[byte * stride + i];
        }
        return;
    }
    std::size_t const half_bytes = size / 2 * count;
    std::byte* const rest = scratch + 2 * half_bytes;
    join_bytes(kernel, in, 2 * stride, scratch, size / 2, count, rest);
    join_bytes(kernel, in + stride, 2 * stride, scratch + half_bytes, size / 2, count, rest);
    kernel.interleave(scratch, scratch + half_bytes, out, half_bytes);
}

// The processor's own prefetcher stops at every page of memory, and what is to be overwritten must be fetched, too.
// Asking beyond the end of the data does no harm.
void prefetch_ahead(std::byte const* tile, std::size_t size) {
    constexpr std::size_t kAheadBytes = 3072;
    for (std::size_t at = 0; at < size; at += 64) __builtin_prefetch(tile + kAheadBytes + at);
}

// Calls `work(first element, number of elements)` for each tile.
template <class Work> void for_each_tile(std::size_t elements, std::size_t tile_elements, Work work) {
    for (std::size_t first = 0; first < elements; first += tile_elements) {
        work(first, std::min(tile_elements, elements - first));
    }
}

} // namespace

Transposer::Transposer(std::size_t element_bytes, Kernel const& kernel)
    : element_bytes_(element_bytes), tile_elements_(tile_elements_of(element_bytes)), kernel_(&kernel),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(tile_elements_ * element_bytes)),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(2 * tile_elements_ * element_bytes)) {}

void Transposer::shuffle(std::span<std::byte const> in, std::byte* out) {
    std::size_t const elements = in.size() / element_bytes_;
    for_each_tile(elements, tile_elements_, [&](std::size_t first, std::size_t count) {
        split_bytes(*kernel_, in.data() + first * element_bytes_, out + first, elements, element_bytes_, count,
                    scratch_.get());
    });
    std::size_t const whole_bytes = elements * element_bytes_;
    std::copy(in.begin() + whole_bytes, in.end(), out + whole_bytes);
}

void Transposer::unshuffle(std::span<std::byte const> in, std::byte* out) {
    std::size_t const elements = in.size() / element_bytes_;
    for_each_tile(elements, tile_elements_, [&](std::size_t first, std::size_t count) {
        join_bytes(*kernel_, in.data() + first, elements, out + first * element_bytes_, element_bytes_, count,
                   scratch_.get());
    });
    std::size_t const whole_bytes = elements * element_bytes_;
    std::copy(in.begin() + whole_bytes, in.end(), out + whole_bytes);
}

void Transposer::shuffle_bits(std::span<std::byte const> in, std::byte* out) {
    THALWEG_ASSERT(in.size() % (8 * element_bytes_) == 0, "bits are shuffled in groups of eight elements");
    std::size_t const stride = in.size() / element_bytes_ / 8;
    for_each_tile(8 * stride, tile_elements_, [&](std::size_t first, std::size_t count) {
        std::byte const* const tile = in.data() + first * element_bytes_;
        prefetch_ahead(tile, count * element_bytes_);
        split_bytes(*kernel_, tile, bytes_.get(), count, element_bytes_, count, scratch_.get());
        for (std::size_t byte = 0; byte < element_bytes_; ++byte) {
            kernel_->split_bits(bytes_.get() + byte * count, out + 8 * byte * stride + first / 8, stride, count / 8);
        }
    });
}

void Transposer::unshuffle_bits(std::span<std::byte const> in, std::byte* out) {
    THALWEG_ASSERT(in.size() % (8 * element_bytes_) == 0, "bits are joined in groups of eight elements");
    std::size_t const stride = in.size() / element_bytes_ / 8;
    for_each_tile(8 * stride, tile_elements_, [&](std::size_t first, std::size_t count) {
        for (std::size_t byte = 0; byte < element_bytes_; ++byte) {
            kernel_->join_bits(in.data() + 8 * byte * stride + first / 8, stride, bytes_.get() + byte * count,
                               count / 8);
        }
        std::byte* const tile = out + first * element_bytes_;
        prefetch_ahead(tile, count * element_bytes_);
        join_bytes(*kernel_, bytes_.get(), count, tile, element_bytes_, count, scratch_.get());
    });
}

} // namespace thalweg::codec
