// The seam of the codecs: bytes to bytes, one page at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace thalweg::codec {

enum class Prefilter : std::uint8_t { none, shuffle, bitshuffle };
enum class Compression : std::uint8_t { none, deflate, lz4, zstd };
inline constexpr std::array kCompressions = {Compression::none, Compression::deflate, Compression::lz4,
                                             Compression::zstd}; // all there are

// The codec of a column's pages. Users write it as "none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1",
// "bitshuffle+zstd-3".
struct Spec {
    Prefilter prefilter = Prefilter::none;
    Compression compression = Compression::none;
    int level = 0; // 0: the compression's own default

    // Throws base::UsageError that lists what there is.
    static Spec parse(std::string_view text);
    std::string name() const;
    bool operator==(Spec const&) const = default;
};

// Encodes and decodes the pages of one column, in exactly the form that the HDF5 filter of that name reads and writes.
// Not thread-safe: an object owns scratch memory. Make one per thread.
class Codec {
  public:
    virtual ~Codec() = default;

    // Room that `encode` needs in `out` for a page of this size; more than the result ever takes.
    virtual std::size_t bound_bytes(std::size_t raw_bytes) const = 0;

    // Returns the encoded size, or 0 when the page does not shrink: it is then stored raw, and `out` means nothing. A
    // prefilter alone keeps the size of a page, and is done all the same.
    virtual std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) = 0;

    // Fills `raw` completely, or throws base::DataError (offset within the page, and reason). Never reads or writes
    // outside the two spans, whatever the bytes.
    virtual void decode(std::span<std::byte const> stored, std::span<std::byte> raw) = 0;
};

inline constexpr std::size_t kMaxElementBytes = 1 << 16;

// `element_bytes`: the size of one value, which is what shuffle and bitshuffle transpose. Throws base::UsageError.
std::unique_ptr<Codec> make_codec(Spec const& spec, std::size_t element_bytes);

// Makes a codec by the name that a run's layout records: a Spec's, "root:..." (root_codec.h) or "hdf5:..."
// (hdf5_pipeline.h).
std::unique_ptr<Codec> make_codec(std::string_view name, std::size_t element_bytes);

} // namespace thalweg::codec
