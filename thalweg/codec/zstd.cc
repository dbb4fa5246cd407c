#include "thalweg/codec/compressor.h"

#include <new>
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
    explicit Zstd(int level) : level_(level), compressor_(ZSTD_createCCtx()), decompressor_(ZSTD_createDCtx()) {
        if (!compressor_ || !decompressor_) throw std::bad_alloc();
    }

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return ZSTD_compressBound(raw_bytes); }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        std::size_t const size =
            ZSTD_compressCCtx(compressor_.get(), out.data(), out.size(), raw.data(), raw.size(), level_);
        return ZSTD_isError(size) ? 0 : size;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t const size =
            ZSTD_decompressDCtx(decompressor_.get(), raw.data(), raw.size(), stored.data(), stored.size());
        if (ZSTD_isError(size)) return ZSTD_getErrorName(size);
        return size == raw.size() ? nullptr : "the zstd frame is shorter than the page";
    }

  private:
    int level_;
    std::unique_ptr<ZSTD_CCtx, FreeContext> compressor_;
    std::unique_ptr<ZSTD_DCtx, FreeContext> decompressor_;
};

} // namespace

std::unique_ptr<Compressor> make_zstd(int level) { return std::make_unique<Zstd>(level); }

} // namespace thalweg::codec
