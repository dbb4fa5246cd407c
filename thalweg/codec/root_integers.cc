#include "thalweg/codec/root_elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace thalweg::codec {
namespace {

// As many values as make 16 bytes of the wider of two types, which every processor handles at once. Compilers do not
// find these loops by themselves, because pages may lie unaligned, and be converted in place.
template <class Element, class Stored> constexpr std::size_t kLanesOf = 16 / std::max(sizeof(Element), sizeof(Stored));

template <class Value, std::size_t lanes> struct Vector {
    using Type __attribute__((vector_size(lanes * sizeof(Value)))) = Value;
};

template <class Type> Type load(std::byte const* from) {
    Type value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <class Type> void store(std::byte* to, Type value) { std::memcpy(to, &value, sizeof(value)); }

template <class Element, class Stored> struct Types {
    static constexpr std::size_t kLanes = kLanesOf<Element, Stored>;
    using Elements = typename Vector<Element, kLanes>::Type;
    using Column = typename Vector<Stored, kLanes>::Type;
    using Bits = typename Vector<std::make_unsigned_t<Stored>, kLanes>::Type;
};

// One vector of elements for the column; returns the bits that were lost. A delta needs the element in front of them.
template <class Element, class Stored, Coding coding>
typename Types<Element, Stored>::Elements step_forth(std::byte const* in, std::byte* out) {
    using Each = Types<Element, Stored>;
    using Elements = typename Each::Elements;
    using Column = typename Each::Column;
    auto const elements = load<Elements>(in);
    auto column = __builtin_convertvector(elements, Column);
    Elements lost = {};
    if constexpr (sizeof(Stored) < sizeof(Element)) lost = elements ^ __builtin_convertvector(column, Elements);
    if constexpr (coding == Coding::zigzag) column = (column << 1) ^ (column < 0); // true is -1
    if constexpr (coding == Coding::delta) {
        column -= __builtin_convertvector(load<Elements>(in - sizeof(Element)), Column);
    }
    store(out, column);
    return lost;
}

template <class Element, class Stored, Coding coding>
typename Types<Element, Stored>::Column step_back(std::byte const* in, std::byte* out) {
    using Each = Types<Element, Stored>;
    using Column = typename Each::Column;
    auto column = load<Column>(in);
    if constexpr (coding == Coding::zigzag) {
        auto const bits = load<typename Each::Bits>(in);
        column = (Column)((bits >> 1) ^ -(bits & 1));
    }
    auto const elements = __builtin_convertvector(column, typename Each::Elements);
    store(out, elements);
    Column lost = {};
    if constexpr (sizeof(Stored) > sizeof(Element)) lost = column ^ __builtin_convertvector(elements, Column);
    return lost;
}

template <class Value, class Type> bool nothing(Type const& lost) {
    Value all = 0;
    for (std::size_t i = 0; i < sizeof(Type) / sizeof(Value); ++i) all |= lost[i];
    return all == 0;
}

template <class Element, class Stored, Coding coding>
bool forth(std::byte const* in, std::byte* out, std::size_t count) {
    constexpr auto kLanes = kLanesOf<Element, Stored>;
    // Handles elements of which there are fewer than a vector has, or that no element precedes.
    auto const step_aside = [&](std::size_t at) {
        auto const items = std::min(kLanes, count - at), before = std::min<std::size_t>(at, 1);
        std::byte from[(kLanes + 1) * sizeof(Element)] = {}, to[kLanes * sizeof(Stored)];
        std::memcpy(from + (1 - before) * sizeof(Element), in + (at - before) * sizeof(Element),
                    (items + before) * sizeof(Element));
        auto const lost = step_forth<Element, Stored, coding>(from + sizeof(Element), to);
        std::memcpy(out + at * sizeof(Stored), to, items * sizeof(Stored));
        return lost;
    };
    if (count == 0) return true;
    auto lost = step_aside(0);
    std::size_t at = kLanes;
    for (; at + kLanes <= count; at += kLanes) {
        lost |= step_forth<Element, Stored, coding>(in + at * sizeof(Element), out + at * sizeof(Stored));
    }
    if (at < count) lost |= step_aside(at);
    return nothing<Element>(lost);
}

template <class Element, class Stored, Coding coding>
bool back(std::byte const* in, std::byte* out, std::size_t count) {
    constexpr auto kLanes = kLanesOf<Element, Stored>;
    typename Types<Element, Stored>::Column lost = {};
    std::size_t at = 0;
    for (; at + kLanes <= count; at += kLanes) {
        lost |= step_back<Element, Stored, coding>(in + at * sizeof(Stored), out + at * sizeof(Element));
    }
    if (at < count) {
        std::byte from[kLanes * sizeof(Stored)] = {}, to[kLanes * sizeof(Element)];
        std::memcpy(from, in + at * sizeof(Stored), (count - at) * sizeof(Stored));
        lost |= step_back<Element, Stored, coding>(from, to);
        std::memcpy(out + at * sizeof(Element), to, (count - at) * sizeof(Element));
    }
    return nothing<Stored>(lost);
}

// Each sum waits for the one before it, so that vectors would gain nothing.
template <class Element, class Stored> bool sum_up(std::byte const* in, std::byte* out, std::size_t count) {
    Stored sum = 0, lost = 0;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; ++i) {
        sum = static_cast<Stored>(sum + load<Stored>(in + i * sizeof(Stored)));
        auto const element = static_cast<Element>(sum);
        lost |= static_cast<Stored>(sum ^ static_cast<Stored>(element));
        store(out + i * sizeof(Element), element);
    }
    return lost == 0;
}

template <class Element, class Stored, Coding coding> Conversion between() {
    if constexpr (sizeof(Element) == sizeof(Stored) && coding == Coding::as_is) return {};
    if constexpr (coding == Coding::delta) return {forth<Element, Stored, coding>, sum_up<Element, Stored>};
    return {forth<Element, Stored, coding>, back<Element, Stored, coding>};
}

template <class Stored, Coding coding> Conversion with(std::size_t element_bytes) {
    constexpr bool kIsSigned = std::is_signed_v<Stored>;
    switch (element_bytes) {
    case 1:
        return between<std::conditional_t<kIsSigned, std::int8_t, std::uint8_t>, Stored, coding>();
    case 2:
        return between<std::conditional_t<kIsSigned, std::int16_t, std::uint16_t>, Stored, coding>();
    case 4:
        return between<std::conditional_t<kIsSigned, std::int32_t, std::uint32_t>, Stored, coding>();
    default:
        return between<std::conditional_t<kIsSigned, std::int64_t, std::uint64_t>, Stored, coding>();
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
