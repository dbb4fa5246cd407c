#include "thalweg/codec/codec.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/scratch.h"
#include "thalweg/codec/bitshuffle.h"
#include "thalweg/codec/hdf5_pipeline.h"
#include "thalweg/codec/root_codec.h"

#include <algorithm>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

class RawCodec : public Codec {
  public:
    std::size_t bound_bytes(std::size_t) const override { return 0; }
    std::size_t encode(std::span<std::byte const>, std::span<std::byte>) override { return 0; }
    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (stored.size() != raw.size()) {
            fail_page(0, fmt::format("{} bytes are stored of a page of {}", stored.size(), raw.size()));
        }
        std::copy(stored.begin(), stored.end(), raw.begin());
    }
};

class CompressedCodec : public Codec {
  public:
    explicit CompressedCodec(std::unique_ptr<Compressor> compressor) : compressor_(std::move(compressor)) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return compressor_->bound_bytes(raw_bytes); }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        std::size_t const size = compressor_->compress(raw, out);
        return size < raw.size() ? size : 0;
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (char const* const why = compressor_->decompress(stored, raw)) fail_page(0, why);
    }

  private:
    std::unique_ptr<Compressor> compressor_;
};

// The page is rearranged as a whole, and what then becomes of it is another codec's business.
class TransposedCodec : public Codec {
  public:
    TransposedCodec(bool bits, std::size_t element_bytes, std::unique_ptr<Codec> inner)
        : bits_(bits), transposer_(element_bytes), inner_(std::move(inner)) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return inner_ ? inner_->bound_bytes(raw_bytes) : raw_bytes;
    }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        std::byte* const rearranged = inner_ ? scratch_.of(raw.size()) : out.data();
        bits_ ? bitshuffle_page(transposer_, raw, rearranged) : transposer_.shuffle(raw, rearranged);
        return inner_ ? inner_->encode({rearranged, raw.size()}, out) : raw.size();
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (inner_) {
            std::span const rearranged(scratch_.of(raw.size()), raw.size());
            inner_->decode(stored, rearranged);
            stored = rearranged;
        } else if (stored.size() != raw.size()) {
            fail_page(0, fmt::format("{} bytes are stored of a page of {}", stored.size(), raw.size()));
        }
        bits_ ? bitunshuffle_page(transposer_, stored, raw.data()) : transposer_.unshuffle(stored, raw.data());
    }

  private:
    bool bits_;
    Transposer transposer_;
    std::unique_ptr<Codec> inner_; // none: the prefilter alone
    base::Scratch scratch_;
};

// Refuses what no caller may ask, so that no codec needs to, and settles the empty page, which has nothing to encode.
class CheckedCodec : public Codec {
  public:
    explicit CheckedCodec(std::unique_ptr<Codec> inner) : inner_(std::move(inner)) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return inner_->bound_bytes(raw_bytes); }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        if (raw.empty()) return 0;
        if (out.size() < bound_bytes(raw.size())) {
            base::fail_usage(
                {fmt::format("no room to encode a page of {} bytes", raw.size()),
                 fmt::format("{} bytes were given, {} may be needed", out.size(), bound_bytes(raw.size()))});
        }
        auto const size = inner_->encode(raw, out);
        THALWEG_ASSERT(size <= out.size(), "an encoded page keeps within the bound of its codec");
        return size;
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (raw.empty() && stored.empty()) return;
        inner_->decode(stored, raw);
    }

  private:
    std::unique_ptr<Codec> inner_;
};

std::unique_ptr<Codec> make_compressed(Spec const& spec) {
    if (spec.compression == Compression::none) return nullptr;
    return std::make_unique<CompressedCodec>(make_compressor(spec.compression, spec.level));
}

std::unique_ptr<Codec> make_unchecked(Spec const& spec, std::size_t element_bytes) {
    switch (spec.prefilter) {
    case Prefilter::bitshuffle:
        if (is_inside_bitshuffle(spec.compression)) {
            return make_bitshuffle_codec(element_bytes, make_block_compressor(spec, element_bytes));
        }
        return std::make_unique<TransposedCodec>(true, element_bytes, make_compressed(spec));
    case Prefilter::shuffle:
        return std::make_unique<TransposedCodec>(false, element_bytes, make_compressed(spec));
    case Prefilter::none:
        break;
    }
    if (spec.compression == Compression::none) return std::make_unique<RawCodec>();
    return make_compressed(spec);
}

} // namespace

std::unique_ptr<Codec> make_codec(Spec const& spec, std::size_t element_bytes) {
    if (element_bytes == 0 || element_bytes > kMaxElementBytes) {
        base::fail_usage({fmt::format("no codec for elements of {} bytes", element_bytes),
                          fmt::format("they have 1 to {} bytes", kMaxElementBytes)});
    }
    return std::make_unique<CheckedCodec>(make_unchecked(spec, element_bytes));
}

std::unique_ptr<Codec> make_codec(std::string_view name, std::size_t element_bytes) {
    if (is_root_codec(name)) return make_root_codec(name, element_bytes);
    if (is_hdf5_pipeline(name)) return make_hdf5_pipeline(name, element_bytes);
    return make_codec(Spec::parse(name), element_bytes);
}

} // namespace thalweg::codec
