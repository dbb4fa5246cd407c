#include "thalweg/codec/compressor.h"

#include <libdeflate.h>

namespace thalweg::codec {
namespace {

struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
};
struct FreeDecompressor {
    void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

class Deflate : public Compressor {
  public:
    explicit Deflate(int level)
        : compressor_(libdeflate_alloc_compressor(level)), decompressor_(libdeflate_alloc_decompressor()) {
        if (!compressor_ || !decompressor_) throw std::bad_alloc();
    }

    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return libdeflate_zlib_compress_bound(compressor_.get(), raw_bytes);
    }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        return libdeflate_zlib_compress(compressor_.get(), raw.data(), raw.size(), out.data(), out.size());
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t read = 0;
        switch (libdeflate_zlib_decompress_ex(decompressor_.get(), stored.data(), stored.size(), raw.data(), raw.size(),
                                              &read, nullptr)) {
        case LIBDEFLATE_SUCCESS:
            return read == stored.size() ? nullptr : "bytes follow the end of the zlib stream";
        case LIBDEFLATE_SHORT_OUTPUT:
            return "the zlib stream is shorter than the page";
        case LIBDEFLATE_INSUFFICIENT_SPACE:
            return "the zlib stream is longer than the page";
        case LIBDEFLATE_BAD_DATA:
            break;
        }
        return "the zlib stream is damaged";
    }

  private:
    std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor_;
    std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor_;
};

} // namespace

std::unique_ptr<Compressor> make_deflate(int level) { return std::make_unique<Deflate>(level); }

} // namespace thalweg::codec
