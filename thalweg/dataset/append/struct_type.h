// What the members of a C++ struct are in a table, said once:
//
//     struct Hit { float energy; std::uint16_t channel; };
//     struct Event { std::uint64_t time; std::array<std::uint16_t, 8> samples; std::vector<Hit> hits; std::string note;
//     };
//
//     auto const hit = struct_type<Hit>().with("energy", &Hit::energy, "keV").with("channel", &Hit::channel);
//     auto const event = struct_type<Event>().with("time", &Event::time, "ns").with("samples", &Event::samples)
//                            .with("hits", &Event::hits, hit).with("note", &Event::note);
//
// Members are numbers, enumerations, bools, arrays of these (std::array or std::uint16_t[8]), std::string, structs, and
// std::vector of any of them.
// StructProducer (struct_producer.h) takes spans of such structs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/model/schema.h"

namespace thalweg::dataset {

struct NoStruct {}; // in place of a StructType, of members that are none

namespace detail {

template <class T> struct ArrayOf {
    using Item = T;
    static std::vector<std::uint64_t> shape() { return {}; }
};
template <class T, std::size_t N> struct ArrayOf<std::array<T, N>> {
    using Item = typename ArrayOf<T>::Item;
    static std::vector<std::uint64_t> shape() {
        auto inner = ArrayOf<T>::shape();
        inner.insert(inner.begin(), N);
        return inner;
    }
};

template <class T, std::size_t N> struct ArrayOf<T[N]> : ArrayOf<std::array<T, N>> {}; // with the same bytes

template <class T> struct ElementOf { static constexpr bool kIsList = false; };
template <class T> struct ElementOf<std::vector<T>> {
    static constexpr bool kIsList = true;
    static_assert(!std::is_same_v<T, bool>,
                  "a std::vector<bool> has no bools in memory; use std::vector<std::uint8_t>");
    using Type = T;
};

template <class T> constexpr bool is_number() { return std::is_arithmetic_v<T> || std::is_enum_v<T>; }

template <class T> constexpr model::Scalar scalar_of() {
    using model::Scalar;
    if constexpr (std::is_enum_v<T>) {
        return scalar_of<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return Scalar::boolean;
    } else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "there are no columns of long double");
        return sizeof(T) == 4 ? Scalar::float32 : Scalar::float64;
    } else {
        constexpr std::array kSigned{Scalar::int8, Scalar::int16, Scalar::int32, Scalar::int64};
        constexpr std::array kUnsigned{Scalar::uint8, Scalar::uint16, Scalar::uint32, Scalar::uint64};
        constexpr std::size_t kPlace = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return std::is_signed_v<T> ? kSigned[kPlace] : kUnsigned[kPlace];
    }
}

template <class Value, class Inner> model::Field field_of(std::string name, Inner const& inner) {
    model::Field field;
    field.name = std::move(name);
    if constexpr (std::is_same_v<Value, std::string>) {
        field.kind = model::Kind::string;
    } else if constexpr (ElementOf<Value>::kIsList) {
        field.kind = model::Kind::list;
        field.members = {field_of<typename ElementOf<Value>::Type>("", inner)};
    } else if constexpr (!std::is_same_v<Inner, NoStruct>) {
        using Item = typename ArrayOf<Value>::Item;
        static_assert(!std::is_same_v<typename Inner::Struct, Item> || std::is_same_v<Item, Value>,
                      "there are no columns of arrays of structs; use a std::vector of them");
        static_assert(std::is_same_v<typename Inner::Struct, Item>, "the StructType is that of another struct");
        field.kind = model::Kind::record;
        field.members = inner.fields();
    } else {
        using Item = typename ArrayOf<Value>::Item;
        static_assert(
            is_number<Item>(),
            "a member is a real number, an enumeration, a std::array of these, a std::string, a std::vector of "
            "any of these, or a struct or a std::vector of structs, for which with() needs a StructType as "
            "third argument");
        field.scalar = scalar_of<Item>();
        field.shape = ArrayOf<Value>::shape();
    }
    return field;
}

} // namespace detail

template <class Struct_, class Value_, class Inner_> struct Member {
    using Struct = Struct_;
    using Value = Value_;
    std::string name;
    Value Struct::*pointer;
    Inner_ inner;
    std::string unit;
};

template <class Struct_, class... Members> class StructType {
  public:
    using Struct = Struct_;

    explicit StructType(std::tuple<Members...> members = {}) : members_(std::move(members)) {}

    // The same with one member more, which comes behind the others.
    template <class Value> auto with(std::string name, Value Struct::*pointer, std::string unit = "") const {
        return with_member(Member<Struct, Value, NoStruct>{std::move(name), pointer, {}, std::move(unit)});
    }
    // The member is a struct, or a list of structs: `inner` says what they have.
    template <class Value, class Other, class... More>
    auto with(std::string name, Value Struct::*pointer, StructType<Other, More...> inner) const {
        return with_member(
            Member<Struct, Value, StructType<Other, More...>>{std::move(name), pointer, std::move(inner), ""});
    }

    std::tuple<Members...> const& members() const { return members_; }

    std::vector<model::Field> fields() const {
        std::vector<model::Field> fields;
        std::apply([&](auto const&... each) { (fields.push_back(field(each)), ...); }, members_);
        return fields;
    }

    // A table whose rows are these structs, for the schema of a run.
    model::Table table(std::string name) const {
        model::Table table;
        table.name = std::move(name);
        table.fields = fields();
        return table;
    }

  private:
    template <class Each> static model::Field field(Each const& member) {
        auto field = detail::field_of<typename Each::Value>(member.name, member.inner);
        field.unit = member.unit;
        return field;
    }
    template <class Each> auto with_member(Each member) const {
        static_cast<void>(field<Each>(member)); // the compiler says here, at this member, that it cannot be stored
        return StructType<Struct, Members..., Each>(std::tuple_cat(members_, std::tuple(std::move(member))));
    }

    std::tuple<Members...> members_;
};

template <class Struct> StructType<Struct> struct_type() { return StructType<Struct>{}; }

} // namespace thalweg::dataset
