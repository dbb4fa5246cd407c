#include "thalweg/codec/compressor.h"

#include <new>
#define ZSTD_STATIC_LINKING_ONLY // for ZSTD_c_literalCompressionMode
#include <zstd.h>

namespace thalweg::codec {
namespace {

struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// One frame that records its content size, because the HDF5 filter allocates by it.
class Zstd : public Compressor {
  public:
    explicit Zstd(int level) : compressor_(ZSTD_createCCtx()), decompressor_(ZSTD_createDCtx()) {
        if (!compressor_ || !decompressor_) throw std::bad_alloc();
        set(ZSTD_c_compressionLevel, level);
    }

    // Literals are coded at every level, also at the negative ones.
    void code_literals() { set(ZSTD_c_literalCompressionMode, ZSTD_ps_enable); }

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return ZSTD_compressBound(raw_bytes); }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        std::size_t const size = ZSTD_compress2(compressor_.get(), out.data(), out.size(), raw.data(), raw.size());
        return ZSTD_isError(size) ? 0 : size;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t const size =
            ZSTD_decompressDCtx(decompressor_.get(), raw.data(), raw.size(), stored.data(), stored.size());
        if (ZSTD_isError(size)) return ZSTD_getErrorName(size);
        return size == raw.size() ? nullptr : "the zstd frame is shorter than the page";
    }

  private:
    // One that this zstd does not know is left out: it is about speed alone.
    void set(ZSTD_cParameter parameter, int value) { ZSTD_CCtx_setParameter(compressor_.get(), parameter, value); }

    std::unique_ptr<ZSTD_CCtx, FreeContext> compressor_;
    std::unique_ptr<ZSTD_DCtx, FreeContext> decompressor_;
};

} // namespace

std::unique_ptr<Compressor> make_zstd(int level) { return std::make_unique<Zstd>(level); }

std::unique_ptr<Compressor> make_zstd_literals() {
    constexpr int kHardlyLooking = -1000; // for matches
    auto zstd = std::make_unique<Zstd>(kHardlyLooking);
    zstd->code_literals();
    return zstd;
}

} // namespace thalweg::codec
