#include "thalweg/codec/root_packing.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/scratch.h"
#include "thalweg/codec/compressor.h"
#include "thalweg/codec/root_elements.h"
#include "thalweg/codec/transposer.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace thalweg::codec {
namespace {

enum class NumberKind : std::uint8_t { byte, signed_integer, unsigned_integer, index, real };

struct Encoding {
    std::string_view name;
    NumberKind kind;
    std::size_t bytes;
    bool split = false;
};

constexpr std::array kEncodings = {
    Encoding{"byte", NumberKind::byte, 1},
    Encoding{"char", NumberKind::byte, 1},
    Encoding{"int8", NumberKind::signed_integer, 1},
    Encoding{"uint8", NumberKind::unsigned_integer, 1},
    Encoding{"int16", NumberKind::signed_integer, 2},
    Encoding{"uint16", NumberKind::unsigned_integer, 2},
    Encoding{"int32", NumberKind::signed_integer, 4},
    Encoding{"uint32", NumberKind::unsigned_integer, 4},
    Encoding{"int64", NumberKind::signed_integer, 8},
    Encoding{"uint64", NumberKind::unsigned_integer, 8},
    Encoding{"real16", NumberKind::real, 2},
    Encoding{"real32", NumberKind::real, 4},
    Encoding{"real64", NumberKind::real, 8},
    Encoding{"index32", NumberKind::index, 4},
    Encoding{"index64", NumberKind::index, 8},
    Encoding{"splitint16", NumberKind::signed_integer, 2, true},
    Encoding{"splituint16", NumberKind::unsigned_integer, 2, true},
    Encoding{"splitint32", NumberKind::signed_integer, 4, true},
    Encoding{"splituint32", NumberKind::unsigned_integer, 4, true},
    Encoding{"splitint64", NumberKind::signed_integer, 8, true},
    Encoding{"splituint64", NumberKind::unsigned_integer, 8, true},
    Encoding{"splitreal16", NumberKind::real, 2, true},
    Encoding{"splitreal32", NumberKind::real, 4, true},
    Encoding{"splitreal64", NumberKind::real, 8, true},
    Encoding{"splitindex32", NumberKind::index, 4, true},
    Encoding{"splitindex64", NumberKind::index, 8, true},
};

// Columns of whole bytes: converted, then split by byte, where the column's encoding asks for either.
class ElementPacking : public Packing {
  public:
    ElementPacking(std::size_t element_bytes, std::size_t column_bytes, Conversion conversion, bool split)
        : element_bytes_(element_bytes), column_bytes_(column_bytes), conversion_(conversion) {
        if (split) transposer_.emplace(column_bytes);
    }

    std::size_t packed_bytes(std::size_t elements) const override { return elements * column_bytes_; }

    void pack(std::span<std::byte const> raw, std::span<std::byte> packed) override {
        THALWEG_ASSERT(packed.size() == packed_bytes(raw.size() / element_bytes_), "every element is packed");
        std::span converted = raw;
        if (conversion_) {
            auto* const out = transposer_ ? scratch_.of(packed.size()) : packed.data();
            if (!conversion_.forth(raw.data(), out, raw.size() / element_bytes_)) {
                base::fail_usage({fmt::format("a value does not fit into a column of {} bytes", column_bytes_)});
            }
            converted = {out, packed.size()};
        }
        if (transposer_) transposer_->shuffle(converted, packed.data());
    }

    void unpack(std::span<std::byte const> packed, std::span<std::byte> raw) override {
        std::span converted = packed;
        if (transposer_) {
            bool const in_place = !conversion_ || column_bytes_ == element_bytes_;
            auto* const out = in_place ? raw.data() : scratch_.of(packed.size());
            transposer_->unshuffle(packed, out);
            converted = {out, packed.size()};
        }
        if (!conversion_) return;
        if (!conversion_.back(converted.data(), raw.data(), raw.size() / element_bytes_)) {
            fail_page(0, fmt::format("a value of it does not fit into {} bytes", element_bytes_));
        }
    }

  private:
    std::size_t element_bytes_, column_bytes_;
    Conversion conversion_;
    std::optional<Transposer> transposer_;
    base::Scratch scratch_;
};

// A switch column's elements: u64 index into the alternative's own column, u32 tag of the alternative.
class Switch : public Packing {
  public:
    explicit Switch(std::uint32_t tag) : tag_(tag) {}

    std::size_t packed_bytes(std::size_t elements) const override { return elements * kColumnBytes; }

    void pack(std::span<std::byte const>, std::span<std::byte>) override {
        base::fail_usage({"a switch column was to be written", "they are only read"});
    }

    void unpack(std::span<std::byte const> packed, std::span<std::byte> raw) override {
        for (std::size_t i = 0; i < raw.size() / sizeof(std::uint64_t); ++i) {
            std::uint32_t tag;
            std::memcpy(&tag, packed.data() + i * kColumnBytes + sizeof(std::uint64_t), sizeof(tag));
            std::uint64_t const is_there = tag == tag_ ? 1 : 0;
            std::memcpy(raw.data() + i * sizeof(is_there), &is_there, sizeof(is_there));
        }
    }

  private:
    static constexpr std::size_t kColumnBytes = 12;
    std::uint32_t tag_;
};

[[noreturn]] void fail_encoding(std::string_view encoding) {
    std::string known = "bit";
    for (auto const& each : kEncodings) known += fmt::format(" {}", each.name);
    base::fail_usage({fmt::format("no encoding \"{}\" of an RNTuple column", encoding),
                      {},
                      "choose " + known + " truncated-<bits> quantized-<bits>-<min>-<max> or switch-<tag>"});
}

void check_element(std::string_view encoding, std::size_t element_bytes, bool is_fine) {
    if (is_fine) return;
    base::fail_usage(
        {fmt::format("a column of encoding {} does not become elements of {} bytes", encoding, element_bytes)});
}

std::unique_ptr<Packing> make_switch(std::string_view encoding) {
    constexpr std::string_view kSwitch = "switch-";
    if (!encoding.starts_with(kSwitch)) return nullptr;
    std::uint32_t tag = 0;
    auto const [end, error] = std::from_chars(encoding.data() + kSwitch.size(), encoding.data() + encoding.size(), tag);
    if (error != std::errc() || end != encoding.data() + encoding.size() || tag == 0) fail_encoding(encoding);
    return std::make_unique<Switch>(tag);
}

Conversion conversion_of(Encoding const& encoding, std::size_t element_bytes) {
    bool const is_integer = element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
    auto const coding = !encoding.split                               ? Coding::as_is
                        : encoding.kind == NumberKind::signed_integer ? Coding::zigzag
                        : encoding.kind == NumberKind::index          ? Coding::delta
                                                                      : Coding::as_is;
    switch (encoding.kind) {
    case NumberKind::signed_integer:
    case NumberKind::unsigned_integer:
    case NumberKind::index:
        check_element(encoding.name, element_bytes, is_integer);
        return integer_conversion(encoding.kind == NumberKind::signed_integer, encoding.bytes, element_bytes, coding);
    case NumberKind::real:
        if (encoding.bytes == 2 && element_bytes == 4) return half_conversion();
        [[fallthrough]];
    case NumberKind::byte:
        check_element(encoding.name, element_bytes, element_bytes == encoding.bytes);
    }
    return {};
}

} // namespace

std::unique_ptr<Packing> make_packing(std::string_view encoding, std::size_t element_bytes) {
    if (auto bits = make_bits(encoding)) {
        check_element(encoding, element_bytes, element_bytes == 1);
        return bits;
    }
    if (auto reals = make_narrow_reals(encoding)) {
        check_element(encoding, element_bytes, element_bytes == sizeof(float));
        return reals;
    }
    if (auto tags = make_switch(encoding)) {
        check_element(encoding, element_bytes, element_bytes == sizeof(std::uint64_t));
        return tags;
    }
    for (auto const& each : kEncodings) {
        if (each.name != encoding) continue;
        auto const conversion = conversion_of(each, element_bytes);
        if (!conversion && !each.split) return nullptr;
        return std::make_unique<ElementPacking>(element_bytes, each.bytes, conversion, each.split);
    }
    fail_encoding(encoding);
}

} // namespace thalweg::codec
