#include "thalweg/tuning/words.h"

#include <bit>
#include <span>
#include <string>
#include <type_traits>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::tuning {
namespace {

// Calls `use(word, member)` for each of these knobs, with the place of its word.
template <typename Tune, typename Use> void for_each_member(Tune& tuning, Use const& use) {
    std::size_t word = 1;
    for (auto const& knob : knobs()) {
        if (knob.reach != Reach::writers && knob.reach != Reach::process) continue;
        if (word == kMostWords) base::fail_usage({"the ledger has no room for so many knobs", "", "raise kMostWords"});
        std::visit([&](auto* place) { use(word, place(tuning)); }, knob.place);
        ++word;
    }
}

std::uint64_t checksum_of_names() {
    std::string names;
    for (auto const& knob : knobs()) {
        if (knob.reach == Reach::writers || knob.reach == Reach::process) names += std::string(knob.name) + '\n';
    }
    return base::xxh3(std::as_bytes(std::span(names)));
}

template <typename Member> std::uint64_t to_word(Member const& member) {
    if constexpr (std::is_same_v<Member, double>) {
        return std::bit_cast<std::uint64_t>(member);
    } else if constexpr (std::is_convertible_v<Member, std::uint64_t> || std::is_enum_v<Member>) {
        return static_cast<std::uint64_t>(member);
    } else {
        base::fail_usage({"a knob that reaches every process must be a number", "the ledger holds nothing else"});
    }
}

template <typename Member> void from_word(Member& member, std::uint64_t word) {
    if constexpr (std::is_same_v<Member, double>) {
        member = std::bit_cast<double>(word);
    } else if constexpr (std::is_same_v<Member, bool>) {
        member = word != 0;
    } else if constexpr (std::is_convertible_v<std::uint64_t, Member> || std::is_enum_v<Member>) {
        member = static_cast<Member>(word);
    }
}

} // namespace

Words pack(Tuning const& tuning) {
    Words words{};
    words[0] = checksum_of_names();
    auto copy = tuning; // places are of what can be written
    for_each_member(copy, [&](std::size_t word, auto const& member) { words[word] = to_word(member); });
    return words;
}

Tuning unpack(Words const& words) {
    if (words[0] != checksum_of_names()) {
        base::fail_usage({"the options of the run cannot be read", "it was created by another version of Thalweg",
                          "use the same version in all processes of a run"});
    }
    Tuning tuning;
    for_each_member(tuning, [&](std::size_t word, auto& member) { from_word(member, words[word]); });
    check(tuning);
    return tuning;
}

} // namespace thalweg::tuning
