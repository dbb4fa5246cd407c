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

// One of each a thread, for all its codecs: a table of a thousand columns would keep a thousand.
ZSTD_CCtx* compression_context() {
    thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> const context(ZSTD_createCCtx());
    if (!context) throw std::bad_alloc();
    ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    return context.get();
}

ZSTD_DCtx* decompression_context() {
    thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> const context(ZSTD_createDCtx());
    if (!context) throw std::bad_alloc();
    return context.get();
}

// One frame that records its content size, because the HDF5 filter allocates by it.
class Zstd : public Compressor {
  public:
    // `literals`: single bytes are coded at every level, also at the negative ones, which look for hardly any match.
    Zstd(int level, bool literals) : level_(level), literals_(literals) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return ZSTD_compressBound(raw_bytes); }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        auto* const context = compression_context();
        // A parameter that this zstd does not know is left out: it is about speed alone.
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level_);
        if (literals_) ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
        std::size_t const size = ZSTD_compress2(context, out.data(), out.size(), raw.data(), raw.size());
        return ZSTD_isError(size) ? 0 : size;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t const size =
            ZSTD_decompressDCtx(decompression_context(), raw.data(), raw.size(), stored.data(), stored.size());
        if (ZSTD_isError(size)) return ZSTD_getErrorName(size);
        return size == raw.size() ? nullptr : "the zstd frame is shorter than the page";
    }

  private:
    int level_;
    bool literals_;
};

} // namespace

std::unique_ptr<Compressor> make_zstd(int level) { return std::make_unique<Zstd>(level, false); }

std::unique_ptr<Compressor> make_zstd_literals() { return std::make_unique<Zstd>(-1000, true); }

} // namespace thalweg::codec
