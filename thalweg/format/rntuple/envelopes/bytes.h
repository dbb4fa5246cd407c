// Numbers and strings to bytes and back: big endian in the container, little endian in RNTuple's envelopes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/base/error.h"

namespace thalweg::format::rntuple {

// The unsigned integer that has the bits of a number: of an integer, an enum or a floating-point value.
template <std::size_t kBytes> struct BitsOfSize;
template <> struct BitsOfSize<1> { using Type = std::uint8_t; };
template <> struct BitsOfSize<2> { using Type = std::uint16_t; };
template <> struct BitsOfSize<4> { using Type = std::uint32_t; };
template <> struct BitsOfSize<8> { using Type = std::uint64_t; };
template <class Number> using BitsOf = typename BitsOfSize<sizeof(Number)>::Type;

template <std::endian kOrder, class Number> void put_number(std::byte* to, Number number) {
    auto const bits = std::bit_cast<BitsOf<Number>>(number);
    for (std::size_t i = 0; i < sizeof bits; ++i) {
        auto const byte = kOrder == std::endian::little ? i : sizeof bits - 1 - i;
        to[i] = static_cast<std::byte>(bits >> (8 * byte));
    }
}

template <std::endian kOrder, class Number> Number take_number(std::byte const* from) {
    BitsOf<Number> bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i) {
        auto const byte = kOrder == std::endian::little ? i : sizeof bits - 1 - i;
        bits = static_cast<BitsOf<Number>>(bits | BitsOf<Number>{std::to_integer<std::uint8_t>(from[i])} << (8 * byte));
    }
    return std::bit_cast<Number>(bits);
}

// Bytes that grow at their end. The type of a number is always spelled out, because it is the format:
// `to.put<std::uint16_t>(2)`.
template <std::endian kOrder> class Putter {
  public:
    template <class Number> void put(std::type_identity_t<Number> number) {
        bytes_.resize(bytes_.size() + sizeof number);
        put_number<kOrder>(bytes_.data() + bytes_.size() - sizeof number, number);
    }
    void put_bytes(std::span<std::byte const> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    // The characters alone; the caller puts the length in front.
    void put_text(std::string_view text) { put_bytes(std::as_bytes(std::span(text))); }
    void put_zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }

    // Puts a number where there are bytes already: a length or an offset that was not known before.
    template <class Number> void put_at(std::size_t position, std::type_identity_t<Number> number) {
        put_number<kOrder>(bytes_.data() + position, number);
    }

    std::size_t size() const { return bytes_.size(); }
    std::vector<std::byte> const& bytes() const { return bytes_; }
    std::vector<std::byte> release() { return std::exchange(bytes_, {}); }

  private:
    std::vector<std::byte> bytes_;
};

// Bytes taken from front to end. Whatever asks for more than there is throws base::DataError with `what` (the file and
// the thing that the bytes are) and the position; `origin` is the position of the first byte, as errors count.
// Refers to the bytes: they must outlive it.
template <std::endian kOrder> class Taker {
  public:
    Taker(std::span<std::byte const> bytes, std::string what, std::uint64_t origin = 0)
        : bytes_(bytes), what_(std::move(what)), origin_(origin) {}

    template <class Number> Number take() { return take_number<kOrder, Number>(take_bytes(sizeof(Number)).data()); }
    std::span<std::byte const> take_bytes(std::uint64_t count) {
        if (count > left()) {
            fail(std::to_string(count) + " bytes are wanted where " + std::to_string(left()) + " are left");
        }
        auto const taken = bytes_.subspan(position_, count);
        position_ += count;
        return taken;
    }
    std::string take_text(std::uint64_t count) {
        auto const taken = take_bytes(count);
        return {reinterpret_cast<char const*>(taken.data()), taken.size()};
    }
    void skip(std::uint64_t count) { take_bytes(count); }

    // Returns the position of the next byte; the first one has 0.
    std::size_t position() const { return position_; }
    std::size_t left() const { return bytes_.size() - position_; }
    std::string const& what() const { return what_; }

    [[noreturn]] void fail(std::string const& why) const {
        base::fail_data({what_ + ", byte " + std::to_string(origin_ + position_), why});
    }

  private:
    std::span<std::byte const> bytes_;
    std::string what_;
    std::uint64_t origin_ = 0;
    std::size_t position_ = 0;
};

using BigPutter = Putter<std::endian::big>;
using BigTaker = Taker<std::endian::big>;
using LittlePutter = Putter<std::endian::little>;
using LittleTaker = Taker<std::endian::little>;

} // namespace thalweg::format::rntuple
