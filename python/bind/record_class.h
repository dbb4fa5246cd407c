// Binds plain structs: one list of the members makes the attributes. A record also gets as_json(), repr, equality and
// pickling.
//
//   bind_record<&Counters::events, &Counters::bytes>(module, "Counters");
//
// A member that is missing in the list of a record does not compile, so a new number is written twice: in the struct,
// and here.
#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace thalweg::bind {

// Returns the name of a data member, which the compiler has in the name of this function.
template <auto Member> constexpr std::string_view member_name() {
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("Member = ") + 9);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

template <typename Struct, typename Value> Struct struct_of(Value Struct::*);
template <auto Member> using StructOf = decltype(struct_of(Member));
template <typename Record, auto Member> using ValueOf = std::remove_cvref_t<decltype(std::declval<Record>().*Member)>;

struct AnyValue {
    template <typename Value> operator Value() const; // NOLINT(google-explicit-constructor): stands for any member
};
template <typename Record, std::size_t... Index> constexpr bool has_members(std::index_sequence<Index...>) {
    return requires { Record{(static_cast<void>(Index), AnyValue{})...}; };
}
template <typename Record, std::size_t Count = 0> constexpr std::size_t member_count() {
    if constexpr (has_members<Record>(std::make_index_sequence<Count + 1>{}))
        return member_count<Record, Count + 1>();
    else
        return Count;
}

// Returns a member as Python's json takes it: numbers and texts as they are, records as dictionaries, lists of both.
template <typename Value> nanobind::object as_json(Value const& value) {
    auto object = nanobind::cast(value, nanobind::rv_policy::copy);
    return nanobind::hasattr(object, "as_json") ? nanobind::object(object.attr("as_json")()) : object;
}
template <typename Value> nanobind::object as_json(std::vector<Value> const& values) {
    nanobind::list list;
    for (auto const& value : values) list.append(as_json(value));
    return list;
}

// Binds a struct with these members as attributes that Python can read.
template <auto First, auto... Rest, typename Record = StructOf<First>>
nanobind::class_<Record> bind_struct(nanobind::module_& module, char const* name) {
    nanobind::class_<Record> bound(module, name);
    auto const add = [&]<auto Member>() { bound.def_ro(std::string(member_name<Member>()).c_str(), Member); };
    (add.template operator()<First>(), ..., add.template operator()<Rest>());
    return bound;
}

// Binds a struct that Python makes, and with these members as attributes that it can set.
template <auto First, auto... Rest, typename Record = StructOf<First>>
nanobind::class_<Record> bind_settable(nanobind::module_& module, char const* name) {
    nanobind::class_<Record> bound(module, name);
    bound.def(nanobind::init<>());
    auto const add = [&]<auto Member>() { bound.def_rw(std::string(member_name<Member>()).c_str(), Member); };
    (add.template operator()<First>(), ..., add.template operator()<Rest>());
    return bound;
}

template <auto First, auto... Rest, typename Record = StructOf<First>>
nanobind::class_<Record> bind_record(nanobind::module_& module, char const* name) {
    static_assert(member_count<Record>() == 1 + sizeof...(Rest), "the list names every member of the struct");
    namespace nb = nanobind;
    auto bound = bind_struct<First, Rest...>(module, name);
    bound.def("as_json", [](Record const& it) {
        nb::dict dict;
        auto const add = [&]<auto Member>() { dict[std::string(member_name<Member>()).c_str()] = as_json(it.*Member); };
        (add.template operator()<First>(), ..., add.template operator()<Rest>());
        return nb::typed<nb::dict, nb::str, nb::any>(dict);
    });
    bound.def("__repr__", [name](nb::handle self) {
        return nb::str("{}({})").format(name, nb::str(nb::repr(self.attr("as_json")())));
    });
    bound.def("__eq__", [](nb::handle self, nb::handle other) {
        return self.type().is(other.type()) && self.attr("as_json")().equal(other.attr("as_json")());
    });
    bound.def("__getstate__", [](Record const& it) { return std::tuple(it.*First, it.*Rest...); });
    bound.def("__setstate__",
              [](Record& it, std::tuple<ValueOf<Record, First>, ValueOf<Record, Rest>...> const& state) {
                  new (&it) Record;
                  std::apply(
                      [&](auto const& first, auto const&... rest) {
                          it.*First = first;
                          ((it.*Rest = rest), ...);
                      },
                      state);
              });
    return bound;
}

} // namespace thalweg::bind
