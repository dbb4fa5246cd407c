// Zstd frames of split pages, plane by plane.
#pragma once

#include "thalweg/codec/compressor.h"

#include <vector>

namespace thalweg::codec {

// A split page is a row of byte planes: all first bytes of its elements, all second bytes, and so on. Some planes are
// noise, some constant, in some single bytes are frequent and in others strings of them; one code for all of them
// serves none. Here each becomes blocks of its own in a zstd frame (RFC 8878): noise is stored, a constant plane is one
// byte, and the others are compressed in the way that suits them (plane_kind.h). That is several times faster than to
// compress the page as a whole, and mostly smaller; any zstd decodes it.
//
// A frame has at most one compressed plane: blocks of a later one would begin with the match offsets of an earlier one.
class ZstdPlanes {
  public:
    explicit ZstdPlanes(int level) : matches_(make_zstd(level)), literals_(make_zstd_literals()) {}

    // A stretch of the page that becomes a frame of its own.
    struct Frame {
        std::size_t raw_bytes = 0;
        std::size_t stored_bytes = 0;
    };

    // Whether planes of a page are worth it: each has at least kMinPlaneBytes, and at most one block.
    static bool fits(std::size_t page_bytes, std::size_t planes);
    std::size_t bound_bytes(std::size_t page_bytes, std::size_t planes) const;

    // Writes the frames behind each other, `head_bytes` of room in front of each. None where the page does not shrink.
    std::span<Frame const> compress(std::span<std::byte const> page, std::size_t planes, std::size_t head_bytes,
                                    std::span<std::byte> out);

    static constexpr std::size_t kMinPlaneBytes = 4096;
    static constexpr std::size_t kMaxPlaneBytes = 128 << 10; // the most a block may hold

  private:
    bool is_compressed(std::span<std::byte const> plane);

    std::unique_ptr<Compressor> matches_;
    std::unique_ptr<Compressor> literals_;
    std::vector<std::byte> compressed_; // the frame of the plane that was compressed last
    std::size_t compressed_bytes_ = 0;
    std::vector<Frame> frames_;
};

} // namespace thalweg::codec
