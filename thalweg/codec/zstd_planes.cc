#include "thalweg/codec/zstd_planes.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/assert.h"
#include "thalweg/codec/plane_kind.h"

namespace thalweg::codec {
namespace {

constexpr std::uint32_t kMagic = 0xfd2fb528;
constexpr std::size_t kFrameHeadBytes = 4 + 1 + 4; // magic, descriptor, content size
constexpr std::byte kSingleSegment{0xa0};          // with the content size in four bytes
constexpr std::size_t kBlockHeadBytes = 3;
// Below this share of its size a plane is worth compressing: what is gained must pay for the time of writer and reader.
constexpr std::size_t kWorthNumerator = 63, kWorthDenominator = 64;

enum BlockType : std::uint32_t { raw = 0, rle = 1, compressed = 2 };

struct BlockHead {
    bool last;
    BlockType type;
    std::uint32_t size;
};

BlockHead block_at(std::byte const* bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, kBlockHeadBytes);
    return {(word & 1) != 0, static_cast<BlockType>(word >> 1 & 3), word >> 3};
}

void put_block_head(std::byte* to, BlockHead const& head) {
    std::uint32_t const word = (head.last ? 1u : 0u) | head.type << 1 | head.size << 3;
    std::memcpy(to, &word, kBlockHeadBytes);
}

std::size_t content_bytes(BlockHead const& head) { return head.type == rle ? 1 : head.size; }

// The blocks of a frame that zstd wrote (without a dictionary, without a checksum).
std::span<std::byte const> blocks_of(std::span<std::byte const> frame) {
    auto const descriptor = std::to_integer<unsigned>(frame[4]);
    bool const single_segment = (descriptor & 0x20) != 0;
    std::size_t const window_bytes = single_segment ? 0 : 1;
    auto const size_code = descriptor >> 6;
    std::size_t const size_bytes = size_code == 0 ? (single_segment ? 1 : 0) : std::size_t{1} << size_code;
    return frame.subspan(5 + window_bytes + size_bytes);
}

bool worth(std::size_t stored_bytes, std::size_t raw_bytes) {
    return stored_bytes > 0 && stored_bytes < raw_bytes / kWorthDenominator * kWorthNumerator;
}

bool is_constant(std::span<std::byte const> plane) {
    return std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0;
}

// Writes one frame into a buffer.
class FrameWriter {
  public:
    explicit FrameWriter(std::byte* out) : out_(out), at_(kFrameHeadBytes) {}

    void store(std::span<std::byte const> plane) {
        add({false, raw, static_cast<std::uint32_t>(plane.size())}, plane.data());
    }
    void repeat(std::byte value, std::size_t count) { add({false, rle, static_cast<std::uint32_t>(count)}, &value); }
    void copy(std::span<std::byte const> blocks) {
        while (!blocks.empty()) {
            auto const head = block_at(blocks.data());
            add({false, head.type, head.size}, blocks.data() + kBlockHeadBytes);
            blocks = blocks.subspan(kBlockHeadBytes + content_bytes(head));
        }
    }

    std::size_t finish(std::size_t raw_bytes) {
        THALWEG_ASSERT(last_ >= kFrameHeadBytes && last_ < at_, "a frame has a block that is its last one");
        auto head = block_at(out_ + last_);
        head.last = true;
        put_block_head(out_ + last_, head);
        auto const size = static_cast<std::uint32_t>(raw_bytes);
        std::memcpy(out_, &kMagic, sizeof kMagic);
        out_[4] = kSingleSegment;
        std::memcpy(out_ + 5, &size, sizeof size);
        return at_;
    }

  private:
    void add(BlockHead const& head, std::byte const* content) {
        last_ = at_;
        put_block_head(out_ + at_, head);
        std::memcpy(out_ + at_ + kBlockHeadBytes, content, content_bytes(head));
        at_ += kBlockHeadBytes + content_bytes(head);
    }

    std::byte* out_;
    std::size_t at_;
    std::size_t last_ = 0; // where the last block begins
};

} // namespace

bool ZstdPlanes::fits(std::size_t page_bytes, std::size_t planes) {
    auto const plane_bytes = page_bytes / planes;
    return planes > 1 && plane_bytes >= kMinPlaneBytes && plane_bytes <= kMaxPlaneBytes;
}

std::size_t ZstdPlanes::bound_bytes(std::size_t page_bytes, std::size_t planes) const {
    // Every plane, at its worst, is a frame: compressed ones only where they shrink, others as stored blocks.
    return page_bytes + planes * (kFrameHeadBytes + 2 * kBlockHeadBytes);
}

bool ZstdPlanes::is_compressed(std::span<std::byte const> plane) {
    auto const kind = kind_of_plane(plane);
    if (kind == PlaneKind::noise) return false; // it costs as much to compress as what is worth it
    compressed_.resize(matches_->bound_bytes(plane.size()));
    auto& zstd = kind == PlaneKind::literals ? *literals_ : *matches_;
    compressed_bytes_ = zstd.compress(plane, compressed_);
    return worth(compressed_bytes_, plane.size());
}

std::span<ZstdPlanes::Frame const> ZstdPlanes::compress(std::span<std::byte const> page, std::size_t planes,
                                                        std::size_t head_bytes, std::span<std::byte> out) {
    auto const plane_bytes = page.size() / planes;
    frames_.clear();
    std::size_t at = head_bytes;
    Frame frame;
    FrameWriter writer(out.data() + at);
    bool shrinks = false; // the frame: something in it does
    bool has_compressed = false;
    for (std::size_t i = 0; i < planes; ++i) {
        auto const plane = page.subspan(i * plane_bytes, plane_bytes);
        bool const constant = is_constant(plane);
        bool const compressed = !constant && is_compressed(plane);
        if (compressed && has_compressed) {
            frame.stored_bytes = writer.finish(frame.raw_bytes);
            frames_.push_back(frame);
            at += frame.stored_bytes + head_bytes;
            frame = {};
            writer = FrameWriter(out.data() + at);
        }
        if (constant) {
            writer.repeat(plane[0], plane.size());
        } else if (compressed) {
            writer.copy(blocks_of(std::span(compressed_).first(compressed_bytes_)));
        } else {
            writer.store(plane);
        }
        has_compressed = has_compressed || compressed;
        shrinks = shrinks || constant || compressed;
        frame.raw_bytes += plane.size();
    }
    if (!shrinks) return {};
    frame.stored_bytes = writer.finish(frame.raw_bytes);
    frames_.push_back(frame);
    THALWEG_ASSERT(at + frame.stored_bytes <= out.size(), "the frames of a page keep within their bound");
    return frames_;
}

} // namespace thalweg::codec
