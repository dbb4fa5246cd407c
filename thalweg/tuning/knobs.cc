#include "thalweg/tuning/knobs.h"

#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <type_traits>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/exact_text.h"
#include "thalweg/base/near_miss.h"
#include "thalweg/base/units.h"

namespace thalweg::tuning {
namespace {

constexpr std::string_view kAuto = "auto";

bool may_be_auto(Knob const& knob) {
    return knob.kind == KnobKind::codec || knob.kind == KnobKind::folder ||
           std::holds_alternative<std::optional<std::uint64_t>& (*)(Tuning&)>(knob.place);
}

// "a time from 1 ms to 1 h"
std::string what(Knob const& knob) {
    switch (knob.kind) {
    case KnobKind::size:
        return "a size from " + range(knob);
    case KnobKind::duration:
        return "a time from " + range(knob);
    case KnobKind::count:
        return "a whole number from " + range(knob);
    case KnobKind::share:
        return "a number from " + range(knob);
    case KnobKind::power_of_two:
    case KnobKind::flag:
    case KnobKind::engine:
    case KnobKind::codec:
    case KnobKind::folder:
        break;
    }
    return range(knob);
}

// What texts say of a kind.
struct KindWords {
    std::string_view type;
    std::string_view unit = {};
    std::string_view example = {};
};

KindWords words_of(KnobKind kind) {
    switch (kind) {
    case KnobKind::size:
        return {"size", "bytes", "write it like '64 MiB', or as a number of bytes"};
    case KnobKind::duration:
        return {"time", "seconds", "write it like '500 ms' or '2 s', or as a number of seconds"};
    case KnobKind::count:
    case KnobKind::power_of_two:
        return {"whole number"};
    case KnobKind::share:
        return {"number"};
    case KnobKind::flag:
        return {"yes or no"};
    case KnobKind::engine:
    case KnobKind::codec:
    case KnobKind::folder:
        break;
    }
    return {"name"};
}

[[noreturn]] void refuse(Knob const& knob, std::string_view text) {
    base::fail_usage({fmt::format("the knob '{}' cannot be '{}'", knob.name, text), "it is " + what(knob),
                      std::string(words_of(knob.kind).example)});
}

template <typename Number> Number number(Knob const& knob, std::string_view text) {
    Number value{};
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) refuse(knob, text);
    return value;
}

bool flag(Knob const& knob, std::string_view text) {
    for (auto const yes : {"yes", "true", "True", "1", "on"}) {
        if (text == yes) return true;
    }
    for (auto const no : {"no", "false", "False", "0", "off"}) {
        if (text == no) return false;
    }
    refuse(knob, text);
}

KnobValue parse_any(Knob const& knob, std::string_view text) {
    switch (knob.kind) {
    case KnobKind::size:
        return base::parse_size_bytes(text);
    case KnobKind::duration:
        return base::parse_duration_ns(text);
    case KnobKind::count:
    case KnobKind::power_of_two:
        return number<std::uint64_t>(knob, text);
    case KnobKind::share:
        return number<double>(knob, text);
    case KnobKind::flag:
        return flag(knob, text);
    case KnobKind::engine:
        return std::string(storage::engine_name(storage::parse_engine(std::string(text))));
    case KnobKind::codec:
    case KnobKind::folder:
        return std::string(text);
    }
    refuse(knob, text);
}

bool is_sound(Knob const& knob, KnobValue const& value) {
    if (auto const* whole = std::get_if<std::uint64_t>(&value)) {
        auto const as_double = static_cast<double>(*whole);
        bool const fits = knob.kind != KnobKind::power_of_two || std::has_single_bit(*whole);
        return fits && knob.least <= as_double && as_double <= knob.most;
    }
    if (auto const* real = std::get_if<double>(&value)) return knob.least <= *real && *real <= knob.most;
    if (auto const* name = std::get_if<std::string>(&value)) return !name->empty();
    return !std::holds_alternative<std::monostate>(value) || may_be_auto(knob);
}

std::string number_text(Knob const& knob, std::uint64_t value) {
    if (knob.kind == KnobKind::size) return base::exact_size(value);
    if (knob.kind == KnobKind::duration) return base::exact_duration(value);
    return std::to_string(value);
}

template <typename Member> KnobValue value_of(Member const& member) {
    if constexpr (std::is_same_v<Member, storage::Engine>) {
        return std::string(storage::engine_name(member));
    } else if constexpr (std::is_same_v<Member, std::string>) {
        return member.empty() ? KnobValue() : KnobValue(member);
    } else if constexpr (std::is_same_v<Member, std::optional<std::uint64_t>>) {
        return member ? KnobValue(*member) : KnobValue();
    } else if constexpr (std::is_same_v<Member, std::uint32_t>) {
        return std::uint64_t{member};
    } else {
        return member;
    }
}

template <typename Member> void assign(Member& member, KnobValue const& value) {
    if constexpr (std::is_same_v<Member, storage::Engine>) {
        member = storage::parse_engine(std::get<std::string>(value));
    } else if (std::holds_alternative<std::monostate>(value)) {
        member = Member{};
    } else if constexpr (std::is_same_v<Member, std::uint32_t>) {
        member = static_cast<std::uint32_t>(std::get<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<Member, std::optional<std::uint64_t>>) {
        member = std::get<std::uint64_t>(value);
    } else {
        member = std::get<Member>(value);
    }
}

} // namespace

Knob const& knob(std::string_view name) {
    std::vector<std::string_view> names;
    for (auto const& each : knobs()) {
        if (each.name == name) return each;
        names.push_back(each.name);
    }
    base::fail_usage({fmt::format("there is no knob '{}'", name), base::suggest(name, names),
                      "`thalweg knobs` tells what each of them does"});
}

KnobValue parse(Knob const& knob, std::string_view text) {
    if (text == kAuto && may_be_auto(knob)) return {};
    KnobValue value;
    try {
        value = parse_any(knob, text);
    } catch (base::UsageError const&) {
        refuse(knob, text); // which says what this knob takes
    }
    if (!is_sound(knob, value)) refuse(knob, text);
    return value;
}

std::string text(Knob const& knob, KnobValue const& value) {
    struct Text {
        Knob const& knob;
        std::string operator()(std::monostate) const { return std::string(kAuto); }
        std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
        std::string operator()(std::uint64_t whole) const { return number_text(knob, whole); }
        std::string operator()(double real) const { return fmt::format("{}", real); }
        std::string operator()(std::string const& name) const { return name; }
    };
    return std::visit(Text{knob}, value);
}

KnobValue get(Tuning tuning, Knob const& knob) {
    return std::visit([&](auto* place) { return value_of(place(tuning)); }, knob.place);
}

void set(Tuning& tuning, std::string_view name, std::string_view text) {
    auto const& known = knob(name);
    auto const value = parse(known, text);
    std::visit([&](auto* place) { assign(place(tuning), value); }, known.place);
}

void check(Tuning const& tuning) {
    for (auto const& each : knobs()) {
        auto const value = get(tuning, each);
        if (!is_sound(each, value)) refuse(each, text(each, value));
    }
}

std::map<std::string, std::string> texts(Tuning const& tuning) {
    std::map<std::string, std::string> all;
    for (auto const& each : knobs()) all.emplace(each.name, text(each, get(tuning, each)));
    return all;
}

std::string_view unit(Knob const& knob) { return words_of(knob.kind).unit; }

std::string range(Knob const& knob) {
    auto const ends = [&](auto least, auto most) {
        return fmt::format("{} to {}{}", least, most, may_be_auto(knob) ? ", or auto" : "");
    };
    auto const least = static_cast<std::uint64_t>(knob.least);
    auto const most = static_cast<std::uint64_t>(knob.most);
    switch (knob.kind) {
    case KnobKind::flag:
        return "yes or no";
    case KnobKind::engine:
        return "auto, uring, threads or posix";
    case KnobKind::codec:
        return "a codec of the container, or auto";
    case KnobKind::folder:
        return "a folder, or auto";
    case KnobKind::share:
        return ends(knob.least, knob.most);
    case KnobKind::power_of_two:
        return "a power of two from " + ends(least, most);
    case KnobKind::size:
    case KnobKind::duration:
    case KnobKind::count:
        break;
    }
    return ends(number_text(knob, least), number_text(knob, most));
}

std::string_view type(Knob const& knob) { return words_of(knob.kind).type; }

std::string_view applies_to(Knob const& knob) {
    switch (knob.reach) {
    case Reach::file:
        return "the file";
    case Reach::committer:
        return "the process that creates the run";
    case Reach::writers:
        return "every process that writes";
    case Reach::process:
        break;
    }
    return "each process that writes";
}

bool may_change(Knob const& knob) { return knob.reach == Reach::process; }

bool may_change_between(Knob const& knob) { return knob.reach != Reach::file && knob.kind != KnobKind::folder; }

} // namespace thalweg::tuning
