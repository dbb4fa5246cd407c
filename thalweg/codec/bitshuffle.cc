#include "thalweg/codec/bitshuffle.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/codec/big_endian.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kSizeBytes = 4;

// What the library calls its default, and promises never to change.
std::size_t default_block_bytes(std::size_t element_bytes) {
    return std::max<std::size_t>(8192 / element_bytes / 8 * 8, 128) * element_bytes;
}

// Ours, where the page tells it. Two of these blocks fit into the first-level cache.
std::size_t compressed_block_bytes(std::size_t element_bytes) {
    constexpr std::size_t kTargetBytes = 16384;
    std::size_t const group_bytes = 8 * element_bytes;
    return std::max<std::size_t>(kTargetBytes / group_bytes, 1) * group_bytes;
}

// Calls `work(offset, size)` for each block, and returns where the leftover begins.
template <class Work>
std::size_t for_each_block(std::size_t page_bytes, std::size_t block_bytes, std::size_t element_bytes, Work work) {
    std::size_t const whole_bytes = page_bytes / (8 * element_bytes) * (8 * element_bytes);
    for (std::size_t at = 0; at < whole_bytes; at += block_bytes) work(at, std::min(block_bytes, whole_bytes - at));
    return whole_bytes;
}

class BitshuffleCodec : public Codec {
  public:
    BitshuffleCodec(std::size_t element_bytes, std::unique_ptr<Compressor> compressor)
        : transposer_(element_bytes), compressor_(std::move(compressor)),
          block_bytes_(compressed_block_bytes(element_bytes)) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        std::size_t const blocks = raw_bytes / block_bytes_ + 1;
        return kHeadBytes + blocks * (kSizeBytes + compressor_->bound_bytes(std::min(raw_bytes, block_bytes_))) +
               8 * transposer_.element_bytes() + kMarginBytes;
    }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        put_big_endian<std::uint64_t>(out.data(), raw.size());
        put_big_endian(out.data() + 8, static_cast<std::uint32_t>(block_bytes_));
        std::size_t at = kHeadBytes;
        compressor_->begin_page();
        std::size_t const leftover = for_each_block(
            raw.size(), block_bytes_, transposer_.element_bytes(), [&](std::size_t offset, std::size_t size) {
                if (at >= raw.size()) return; // it will not shrink any more
                std::byte* const planes = planes_of(size);
                transposer_.shuffle_bits(raw.subspan(offset, size), planes);
                std::size_t const room = compressor_->bound_bytes(size);
                std::size_t const stored = compressor_->compress({planes, size}, out.subspan(at + kSizeBytes, room));
                put_big_endian(out.data() + at, static_cast<std::uint32_t>(stored));
                at += stored == 0 ? raw.size() : kSizeBytes + stored;
            });
        THALWEG_ASSERT(raw.size() - leftover < 8 * transposer_.element_bytes(),
                       "less than eight elements are left over");
        std::size_t const size = at + raw.size() - leftover;
        if (size >= raw.size()) return 0;
        std::copy(raw.begin() + leftover, raw.end(), out.begin() + at);
        return size;
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t const block_bytes = check_head(stored, raw.size());
        std::size_t at = kHeadBytes;
        std::size_t const leftover = for_each_block(
            raw.size(), block_bytes, transposer_.element_bytes(), [&](std::size_t offset, std::size_t size) {
                std::span<std::byte const> const block = block_at(stored, at);
                std::byte* const planes = planes_of(size);
                if (char const* const why = compressor_->decompress(block, {planes, size})) fail_page(at, why);
                transposer_.unshuffle_bits({planes, size}, raw.data() + offset);
                at += kSizeBytes + block.size();
            });
        if (stored.size() - at != raw.size() - leftover) {
            fail_page(at, fmt::format("{} bytes should follow the last block, not {}", raw.size() - leftover,
                                      stored.size() - at));
        }
        std::copy(stored.begin() + at, stored.end(), raw.begin() + leftover);
    }

  private:
    std::size_t check_head(std::span<std::byte const> stored, std::size_t raw_bytes) const {
        if (stored.size() < kHeadBytes) fail_page(0, "the bitshuffle header is cut short");
        auto const told_bytes = get_big_endian<std::uint64_t>(stored.data());
        if (told_bytes != raw_bytes) {
            fail_page(0, fmt::format("the bitshuffle header tells of {} bytes, not {}", told_bytes, raw_bytes));
        }
        std::size_t const block_bytes = get_big_endian<std::uint32_t>(stored.data() + 8);
        if (block_bytes == 0 || block_bytes % (8 * transposer_.element_bytes()) != 0) {
            fail_page(8, fmt::format("blocks of {} bytes are no multiple of 8 elements of {} bytes", block_bytes,
                                     transposer_.element_bytes()));
        }
        return block_bytes;
    }

    static std::span<std::byte const> block_at(std::span<std::byte const> stored, std::size_t at) {
        if (stored.size() - at < kSizeBytes) fail_page(at, "a block is cut short");
        std::size_t const size = get_big_endian<std::uint32_t>(stored.data() + at);
        if (stored.size() - at - kSizeBytes < size) fail_page(at, "a block is cut short");
        return stored.subspan(at + kSizeBytes, size);
    }

    // Scratch for one block, with the margins that the compressors read beyond.
    std::byte* planes_of(std::size_t size) {
        if (planes_bytes_ < size) {
            planes_ = std::make_unique<std::byte[]>(size + 2 * kMarginBytes);
            planes_bytes_ = size;
        }
        return planes_.get() + kMarginBytes;
    }

    Transposer transposer_;
    std::unique_ptr<Compressor> compressor_;
    std::size_t block_bytes_;
    std::unique_ptr<std::byte[]> planes_;
    std::size_t planes_bytes_ = 0;
};

} // namespace

void bitshuffle_page(Transposer& transposer, std::span<std::byte const> in, std::byte* out) {
    std::size_t const element_bytes = transposer.element_bytes();
    std::size_t const leftover = for_each_block(
        in.size(), default_block_bytes(element_bytes), element_bytes,
        [&](std::size_t at, std::size_t size) { transposer.shuffle_bits(in.subspan(at, size), out + at); });
    std::copy(in.begin() + leftover, in.end(), out + leftover);
}

void bitunshuffle_page(Transposer& transposer, std::span<std::byte const> in, std::byte* out) {
    std::size_t const element_bytes = transposer.element_bytes();
    std::size_t const leftover = for_each_block(
        in.size(), default_block_bytes(element_bytes), element_bytes,
        [&](std::size_t at, std::size_t size) { transposer.unshuffle_bits(in.subspan(at, size), out + at); });
    std::copy(in.begin() + leftover, in.end(), out + leftover);
}

std::unique_ptr<Codec> make_bitshuffle_codec(std::size_t element_bytes, std::unique_ptr<Compressor> compressor) {
    return std::make_unique<BitshuffleCodec>(element_bytes, std::move(compressor));
}

} // namespace thalweg::codec
