#include "thalweg/codec/root_elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace thalweg::codec {
namespace {

// Loops of a fixed length over arrays of their own are what compilers turn into vector instructions; elements in pages
// may also lie unaligned.
constexpr std::size_t kBlock = 256;

template <class Stored> std::make_unsigned_t<Stored> zigzag(Stored value) {
    using Unsigned = std::make_unsigned_t<Stored>;
    auto const doubled = static_cast<Unsigned>(static_cast<Unsigned>(value) << 1);
    return static_cast<Unsigned>(doubled ^ static_cast<Unsigned>(value < 0 ? -1 : 0));
}

template <class Stored> Stored from_zigzag(Stored coded) {
    using Unsigned = std::make_unsigned_t<Stored>;
    auto const bits = static_cast<Unsigned>(coded);
    return static_cast<Stored>(static_cast<Unsigned>(bits >> 1) ^ static_cast<Unsigned>(0 - (bits & 1)));
}

// The bits in which `value` differs from what is left of it in a `Narrow`.
template <class Narrow, class Wide> Wide lost(Wide value) {
    return static_cast<Wide>(value ^ static_cast<Wide>(static_cast<Narrow>(value)));
}

template <class Element, class Stored, Coding coding>
bool forth(std::byte const* in, std::byte* out, std::size_t count) {
    Element from[kBlock + 1] = {}; // the first is the one before the block
    Stored to[kBlock];
    Element all_lost = 0;
    for (std::size_t at = 0; at < count; at += kBlock) {
        auto const block = std::min(kBlock, count - at);
        std::memcpy(from + 1, in + at * sizeof(Element), block * sizeof(Element));
        for (std::size_t i = 0; i < kBlock; ++i) {
            auto const value = static_cast<Stored>(from[i + 1]);
            if constexpr (sizeof(Stored) < sizeof(Element)) all_lost |= lost<Stored>(from[i + 1]);
            if constexpr (coding == Coding::zigzag)
                to[i] = static_cast<Stored>(zigzag(value));
            else if constexpr (coding == Coding::delta)
                to[i] = static_cast<Stored>(value - static_cast<Stored>(from[i]));
            else
                to[i] = value;
        }
        std::memcpy(out + at * sizeof(Stored), to, block * sizeof(Stored));
        from[0] = from[kBlock];
    }
    return all_lost == 0;
}

template <class Element, class Stored, Coding coding>
bool back(std::byte const* in, std::byte* out, std::size_t count) {
    Stored from[kBlock] = {};
    Element to[kBlock];
    Stored all_lost = 0, sum = 0;
    for (std::size_t at = 0; at < count; at += kBlock) {
        auto const block = std::min(kBlock, count - at);
        std::memcpy(from, in + at * sizeof(Stored), block * sizeof(Stored));
        std::fill(from + block, from + kBlock, Stored{0}); // whatever is left there must not count as lost
        if constexpr (coding == Coding::delta) {
            for (std::size_t i = 0; i < kBlock; ++i) from[i] = sum = static_cast<Stored>(sum + from[i]);
        }
        for (std::size_t i = 0; i < kBlock; ++i) {
            Stored const value = coding == Coding::zigzag ? from_zigzag(from[i]) : from[i];
            if constexpr (sizeof(Stored) > sizeof(Element)) all_lost |= lost<Element>(value);
            to[i] = static_cast<Element>(value);
        }
        std::memcpy(out + at * sizeof(Element), to, block * sizeof(Element));
    }
    return all_lost == 0;
}

template <class Element, class Stored, Coding coding> Conversion between() {
    if constexpr (sizeof(Element) == sizeof(Stored) && coding == Coding::as_is) return {};
    return {forth<Element, Stored, coding>, back<Element, Stored, coding>};
}

template <class Stored, Coding coding> Conversion with(std::size_t element_bytes) {
    constexpr bool is_signed = std::is_signed_v<Stored>;
    switch (element_bytes) {
    case 1:
        return between<std::conditional_t<is_signed, std::int8_t, std::uint8_t>, Stored, coding>();
    case 2:
        return between<std::conditional_t<is_signed, std::int16_t, std::uint16_t>, Stored, coding>();
    case 4:
        return between<std::conditional_t<is_signed, std::int32_t, std::uint32_t>, Stored, coding>();
    default:
        return between<std::conditional_t<is_signed, std::int64_t, std::uint64_t>, Stored, coding>();
    }
}

template <class Signed> Conversion of_width(bool is_signed, std::size_t element_bytes, Coding coding) {
    using Unsigned = std::make_unsigned_t<Signed>;
    if (coding == Coding::zigzag) return with<Signed, Coding::zigzag>(element_bytes);
    if (coding == Coding::delta) return with<Unsigned, Coding::delta>(element_bytes);
    return is_signed ? with<Signed, Coding::as_is>(element_bytes) : with<Unsigned, Coding::as_is>(element_bytes);
}

} // namespace

Conversion integer_conversion(bool is_signed, std::size_t column_bytes, std::size_t element_bytes, Coding coding) {
    switch (column_bytes) {
    case 1:
        return of_width<std::int8_t>(is_signed, element_bytes, coding);
    case 2:
        return of_width<std::int16_t>(is_signed, element_bytes, coding);
    case 4:
        return of_width<std::int32_t>(is_signed, element_bytes, coding);
    default:
        return of_width<std::int64_t>(is_signed, element_bytes, coding);
    }
}

} // namespace thalweg::codec
