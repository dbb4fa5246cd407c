#include "thalweg/base/assert.h"
#include "thalweg/codec/big_endian.h"
#include "thalweg/codec/compressor.h"
#include "thalweg/codec/lz4_block.h"
#include "thalweg/codec/plane_lz4.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <lz4.h>
#include <vector>

namespace thalweg::codec {
namespace {

constexpr char const* kDamaged = "the LZ4 block is damaged";

char* chars(std::byte* bytes) { return reinterpret_cast<char*>(bytes); }
char const* chars(std::byte const* bytes) { return reinterpret_cast<char const*>(bytes); }

// LZ4's own encoder. Its table of 16 KiB is kept between blocks and not cleared for each: what other blocks left in it
// is passed by.
class GeneralLz4 {
  public:
    GeneralLz4() { begin(); }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) {
        if (encoded_bytes_ > kMostBytes) begin(); // before LZ4 does so itself
        encoded_bytes_ += raw.size() + kGapBytes;
        THALWEG_ASSERT(encoded_bytes_ < kLz4RestartsAtBytes, "the table is begun anew before LZ4 does so");
        LZ4_resetStream_fast(&stream_);
        int const size = LZ4_compress_fast_continue(&stream_, chars(raw.data()), chars(out.data()),
                                                    static_cast<int>(raw.size()), static_cast<int>(out.size()), 1);
        return static_cast<std::size_t>(std::max(size, 0));
    }

  private:
    static constexpr std::size_t kMostBytes = std::size_t{1} << 29;
    static constexpr std::size_t kLz4RestartsAtBytes = std::size_t{1} << 31;
    static constexpr std::size_t kGapBytes = std::size_t{1} << 16; // that LZ4 leaves between blocks

    // In an empty table, what was never entered looks like an entry of the first byte, and some strings are found that
    // are not found with any other table: so that all blocks are treated alike, none is the first.
    void begin() {
        LZ4_initStream(&stream_, sizeof stream_);
        std::array<char, 32> const nothing{};
        std::array<char, 64> out;
        LZ4_compress_fast_continue(&stream_, nothing.data(), out.data(), nothing.size(), out.size(), 1);
        encoded_bytes_ = 0;
    }

    LZ4_stream_t stream_;
    std::size_t encoded_bytes_ = 0;
};

bool decompress_block(std::span<std::byte const> stored, std::span<std::byte> raw) {
    if (stored.size() > static_cast<std::size_t>(LZ4_COMPRESSBOUND(LZ4_MAX_INPUT_SIZE))) return false;
    int const size = LZ4_decompress_safe(chars(stored.data()), chars(raw.data()), static_cast<int>(stored.size()),
                                         static_cast<int>(std::min<std::size_t>(raw.size(), LZ4_MAX_INPUT_SIZE)));
    return size >= 0 && static_cast<std::size_t>(size) == raw.size();
}

std::size_t block_bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 255 + 16; }

class Lz4Block : public Compressor {
  public:
    std::size_t bound_bytes(std::size_t raw_bytes) const override { return block_bound(raw_bytes); }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        return encoder_.encode(raw, out.first(block_bound(raw.size())));
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        return decompress_block(stored, raw) ? nullptr : kDamaged;
    }

  private:
    GeneralLz4 encoder_;
};

// HDF5 filter 32004: u64 raw size, u32 block size, then each block behind its u32 stored size; all big-endian. A block
// that does not shrink is stored raw, and recognised by its size.
class Lz4Pages : public Compressor {
  public:
    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return kHeadBytes + block_bound(raw_bytes) + (raw_bytes / kBlockBytes + 1) * (4 + 16);
    }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        put_big_endian<std::uint64_t>(out.data(), raw.size());
        put_big_endian<std::uint32_t>(out.data() + 8, static_cast<std::uint32_t>(std::min(raw.size(), kBlockBytes)));
        std::size_t at = kHeadBytes;
        for (std::size_t first = 0; first < raw.size(); first += kBlockBytes) {
            auto const block = raw.subspan(first, std::min(kBlockBytes, raw.size() - first));
            auto const room = out.subspan(at + 4);
            std::size_t size = encoder_.encode(block, room.first(std::min(room.size(), block_bound(block.size()))));
            if (size == 0 || size >= block.size()) {
                std::copy(block.begin(), block.end(), room.begin());
                size = block.size();
            }
            put_big_endian(out.data() + at, static_cast<std::uint32_t>(size));
            at += 4 + size;
        }
        return at;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (stored.size() < kHeadBytes) return "the LZ4 header is cut short";
        if (get_big_endian<std::uint64_t>(stored.data()) != raw.size()) return "the LZ4 header tells of another size";
        std::size_t const block_bytes = get_big_endian<std::uint32_t>(stored.data() + 8);
        if (block_bytes == 0 && !raw.empty()) return "the LZ4 header tells of empty blocks";
        stored = stored.subspan(kHeadBytes);
        while (!raw.empty()) {
            auto const block = raw.first(std::min(block_bytes, raw.size()));
            if (stored.size() < 4) return "an LZ4 block is cut short";
            std::size_t const size = get_big_endian<std::uint32_t>(stored.data());
            if (size > stored.size() - 4) return "an LZ4 block is cut short";
            auto const body = stored.subspan(4, size);
            if (size == block.size()) {
                std::copy(body.begin(), body.end(), block.begin());
            } else if (!decompress_block(body, block)) {
                return kDamaged;
            }
            stored = stored.subspan(4 + size);
            raw = raw.subspan(block.size());
        }
        return stored.empty() ? nullptr : "bytes follow the last LZ4 block";
    }

  private:
    static constexpr std::size_t kHeadBytes = 12;
    static constexpr std::size_t kBlockBytes = std::size_t{1} << 30; // the filter's own default
    GeneralLz4 encoder_;
};

// Plain LZ4 blocks of bit planes. Of the two encoders, the fast one is used unless the general one saves more than an
// eighth. Both are tried once a page, on a quarter of its first block.
class Lz4Planes : public Compressor {
  public:
    explicit Lz4Planes(std::size_t planes) : planes_(planes) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return block_bound(raw_bytes); }

    void begin_page() override { tried_ = false; }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        if (!tried_) try_both(raw);
        return general_pays_ ? general_.encode(raw, out) : encode_planes(raw, out.data());
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        return decode_lz4_block(stored, raw, kMarginBytes) ? nullptr : kDamaged;
    }

  private:
    std::size_t encode_planes(std::span<std::byte const> raw, std::byte* out) {
        THALWEG_ASSERT(raw.size() % planes_ == 0, "the planes of a block are equally long");
        return plane_encoder_.encode(raw, raw.size() / planes_, out);
    }

    // The first quarter of every plane: what bitshuffle would make of the first quarter of the elements.
    void try_both(std::span<std::byte const> raw) {
        auto const plane_bytes = raw.size() / planes_;
        auto const piece_bytes = (plane_bytes + 3) / 4;
        auto const sample_bytes = planes_ * piece_bytes;
        sample_.resize(sample_bytes + 2 * kMarginBytes);
        sample_out_.resize(block_bound(sample_bytes) + kMarginBytes);
        std::span const sample(sample_.data() + kMarginBytes, sample_bytes);
        for (std::size_t i = 0; i < planes_; ++i) {
            std::memcpy(sample.data() + i * piece_bytes, raw.data() + i * plane_bytes, piece_bytes);
        }
        auto const general = general_.encode(sample, std::span(sample_out_).first(block_bound(sample_bytes)));
        auto const planes = encode_planes(sample, sample_out_.data());
        general_pays_ = general < planes - planes / 8;
        tried_ = true;
    }

    std::size_t planes_;
    PlaneLz4 plane_encoder_;
    GeneralLz4 general_;
    bool tried_ = false;
    bool general_pays_ = false;
    std::vector<std::byte> sample_;
    std::vector<std::byte> sample_out_;
};

} // namespace

std::unique_ptr<Compressor> make_lz4_pages() { return std::make_unique<Lz4Pages>(); }
std::unique_ptr<Compressor> make_lz4_block() { return std::make_unique<Lz4Block>(); }
std::unique_ptr<Compressor> make_lz4_planes(std::size_t planes) { return std::make_unique<Lz4Planes>(planes); }

} // namespace thalweg::codec
