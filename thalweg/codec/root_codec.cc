#include "thalweg/codec/root_codec.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/scratch.h"
#include "thalweg/codec/root_blocks.h"
#include "thalweg/codec/root_packing.h"

#include <cctype>
#include <cstring>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

constexpr std::string_view kRootPrefix = "root:";

struct RootSpec {
    std::string_view encoding;
    Compression compression = Compression::none;
    int level = 0;
};

RootSpec parse(std::string_view name) {
    RootSpec spec{name.substr(kRootPrefix.size())};
    auto const plus = spec.encoding.rfind('+');
    bool const in_a_number = plus + 1 < spec.encoding.size() && std::isdigit(spec.encoding[plus + 1]); // 1e+05
    if (plus == spec.encoding.npos || in_a_number) return spec;
    auto const compression = spec.encoding.substr(plus + 1);
    spec.encoding = spec.encoding.substr(0, plus);
    if (compression.find("shuffle") != compression.npos) {
        base::fail_usage({fmt::format("no codec \"{}\"", name), "pages of an RNTuple are split, not shuffled"});
    }
    auto const parsed = Spec::parse(compression);
    spec.compression = parsed.compression;
    spec.level = parsed.level;
    return spec;
}

class RootCodec : public Codec {
  public:
    RootCodec(RootSpec const& spec, std::size_t element_bytes)
        : element_bytes_(element_bytes), packing_(make_packing(spec.encoding, element_bytes)),
          planes_(spec.encoding.starts_with("split") ? packing_->packed_bytes(1) : 1),
          blocks_(spec.compression, spec.level) {}

    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return blocks_.bound_bytes(packed_bytes(raw_bytes), planes_);
    }

    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        if (raw.size() % element_bytes_ != 0 || out.size() < bound_bytes(raw.size())) {
            base::fail_usage(
                {fmt::format("a page of {} bytes cannot be encoded into {}", raw.size(), out.size()),
                 fmt::format("elements have {} bytes, and {} may be needed", element_bytes_, bound_bytes(raw.size()))});
        }
        auto const packed = pack(raw, out);
        auto const size = blocks_.compress(packed, planes_, out);
        THALWEG_ASSERT(size <= out.size(), "an encoded page keeps within the bound of its codec");
        if (size > 0) return size;
        if (packed.data() != out.data() && !packed.empty()) std::memcpy(out.data(), packed.data(), packed.size());
        return packed.size();
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (raw.size() % element_bytes_ != 0) {
            fail_page(0, fmt::format("{} bytes are no whole elements of {}", raw.size(), element_bytes_));
        }
        auto const size = packed_bytes(raw.size());
        bool const compressed = stored.size() != size;
        if (!packing_) {
            compressed ? blocks_.decompress(stored, raw) : copy(stored, raw);
            return;
        }
        if (compressed) {
            std::span const packed(scratch_.of(size), size);
            blocks_.decompress(stored, packed);
            stored = packed;
        }
        packing_->unpack(stored, raw);
    }

  private:
    std::size_t packed_bytes(std::size_t raw_bytes) const {
        return packing_ ? packing_->packed_bytes(raw_bytes / element_bytes_) : raw_bytes;
    }

    std::span<std::byte const> pack(std::span<std::byte const> raw, std::span<std::byte> out) {
        if (!packing_) return raw;
        auto const size = packed_bytes(raw.size());
        std::span const packed(blocks_.compresses() ? scratch_.of(size) : out.data(), size);
        packing_->pack(raw, packed);
        return packed;
    }

    static void copy(std::span<std::byte const> from, std::span<std::byte> to) {
        if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    }

    std::size_t element_bytes_;
    std::unique_ptr<Packing> packing_; // none: elements are stored as they are
    std::size_t planes_;               // of a split page: bytes of an element; 1 where it is not split
    RootBlocks blocks_;
    base::Scratch scratch_;
};

} // namespace

bool is_root_codec(std::string_view name) { return name.starts_with(kRootPrefix); }

std::unique_ptr<Codec> make_root_codec(std::string_view name, std::size_t element_bytes) {
    if (!is_root_codec(name)) base::fail_usage({fmt::format("\"{}\" is no codec of an RNTuple", name)});
    return std::make_unique<RootCodec>(parse(name), element_bytes);
}

std::uint32_t compression_settings(std::string_view name) {
    auto const spec = parse(name);
    return root_settings({Prefilter::none, spec.compression, spec.level});
}

std::string compression_of_settings(std::uint32_t settings) {
    auto const spec = spec_of_root_settings(settings);
    return spec ? spec->name() : std::string();
}

} // namespace thalweg::codec
