// float32 values in fewer bits than 32: the upper ones of each, or its place within a range.
#include "thalweg/base/assert.h"
#include "thalweg/codec/root_packing.h"

#include "thalweg/base/error.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace thalweg::codec {
namespace {

struct Truncated {
    unsigned bits; // 10 to 31, as make_truncated has checked

    std::uint32_t word_of(float value) const { return std::bit_cast<std::uint32_t>(value) >> (32 - bits); }
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it thinks of 0 bits
    float value_of(std::uint32_t word) const { return std::bit_cast<float>(word << (32 - bits)); }
};

// As ROOT does it: halves round up, and nothing comes out above the range.
struct Quantized {
    unsigned bits;
    double min, max;
    double steps = static_cast<double>((std::uint64_t{1} << bits) - 1);

    std::uint32_t word_of(float value) const {
        if (!(static_cast<float>(min) <= value && value <= static_cast<float>(max))) {
            base::fail_usage({fmt::format("{} has no place in a quantized column", value),
                              fmt::format("its range is {} to {}", min, max)});
        }
        auto const step = 0.5 + (value - min) * (steps / (max - min));
        return static_cast<std::uint32_t>(std::clamp(step, 0.0, steps)); // the nearest float32 may lie outside
    }
    float value_of(std::uint32_t word) const {
        return static_cast<float>(std::min(word * ((max - min) / steps) + min, max));
    }
};

// Words of `bits` bits without gaps, the first in the lowest bits of the first byte.
template <class Coder> class NarrowReals : public Packing {
  public:
    explicit NarrowReals(Coder coder) : coder_(coder) {}

    std::size_t packed_bytes(std::size_t elements) const override {
        return elements / 8 * coder_.bits + (elements % 8 * coder_.bits + 7) / 8;
    }

    void pack(std::span<std::byte const> raw, std::span<std::byte> packed) override {
        std::uint64_t pending = 0;
        unsigned pending_bits = 0;
        auto* out = packed.data();
        for (std::size_t at = 0; at < raw.size(); at += sizeof(float)) {
            float value;
            std::memcpy(&value, raw.data() + at, sizeof(float));
            pending |= std::uint64_t{coder_.word_of(value)} << pending_bits;
            for (pending_bits += coder_.bits; pending_bits >= 8; pending_bits -= 8, pending >>= 8) {
                *out++ = std::byte(pending);
            }
        }
        if (pending_bits > 0) *out++ = std::byte(pending);
        THALWEG_ASSERT(out == packed.data() + packed.size(), "packed numbers fill their bytes");
    }

    void unpack(std::span<std::byte const> packed, std::span<std::byte> raw) override {
        std::uint64_t pending = 0;
        unsigned pending_bits = 0;
        auto const* in = packed.data();
        auto const mask = static_cast<std::uint32_t>((std::uint64_t{1} << coder_.bits) - 1);
        for (std::size_t at = 0; at < raw.size(); at += sizeof(float)) {
            for (; pending_bits < coder_.bits; pending_bits += 8) {
                pending |= std::to_integer<std::uint64_t>(*in++) << pending_bits;
            }
            float const value = coder_.value_of(static_cast<std::uint32_t>(pending) & mask);
            std::memcpy(raw.data() + at, &value, sizeof(float));
            pending >>= coder_.bits;
            pending_bits -= coder_.bits;
        }
    }

  private:
    Coder coder_;
};

// The number after a dash in front of `text`, which is then behind it.
template <class Number> std::optional<Number> take_number(std::string_view& text) {
    Number number{};
    if (!text.starts_with('-')) return std::nullopt;
    auto const [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool within_float(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

std::unique_ptr<Packing> make_truncated(std::string_view numbers) {
    auto const bits = take_number<unsigned>(numbers);
    if (!bits || !numbers.empty() || *bits < 10 || *bits > 31) {
        base::fail_usage({"no such truncated column", "truncated-<bits> has 10 to 31 bits"});
    }
    return std::make_unique<NarrowReals<Truncated>>(Truncated{*bits});
}

std::unique_ptr<Packing> make_quantized(std::string_view numbers) {
    auto const bits = take_number<unsigned>(numbers);
    auto const min = take_number<double>(numbers), max = take_number<double>(numbers);
    bool const sound = bits && *bits >= 1 && *bits <= 32 && min && max && numbers.empty();
    if (!sound || !within_float(*min) || !within_float(*max) || !(*min < *max)) {
        base::fail_usage({"no such quantized column",
                          "quantized-<bits>-<min>-<max> has 1 to 32 bits, and a range of float32 that is not empty"});
    }
    return std::make_unique<NarrowReals<Quantized>>(Quantized{*bits, *min, *max});
}

} // namespace

std::unique_ptr<Packing> make_narrow_reals(std::string_view encoding) {
    constexpr std::string_view kTruncated = "truncated", kQuantized = "quantized";
    if (encoding.starts_with(kTruncated)) return make_truncated(encoding.substr(kTruncated.size()));
    if (encoding.starts_with(kQuantized)) return make_quantized(encoding.substr(kQuantized.size()));
    return nullptr;
}

} // namespace thalweg::codec
