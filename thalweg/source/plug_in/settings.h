// Helps to say which settings a source of this package has, and to take their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/source.h"

namespace thalweg::source::plug_in {

// Returns a setting. Without a fallback it is required.
thalweg_setting setting(char const* name, std::uint32_t kind, char const* fallback, char const* help);
// Returns a setting whose value has no text if it is not given.
thalweg_setting optional_setting(char const* name, std::uint32_t kind, char const* help);

// Returns pointers to the settings, up to a null pointer.
template <std::size_t Count>
std::array<thalweg_setting const*, Count + 1> listed(std::array<thalweg_setting, Count> const& settings) {
    std::array<thalweg_setting const*, Count + 1> made{};
    for (std::size_t i = 0; i < Count; ++i) made[i] = &settings[i];
    return made;
}

// Returns the place of the given word among those that are known, or throws base::UsageError.
std::size_t choice(char const* name, char const* given, std::span<char const* const> known);
template <std::size_t Count>
std::size_t choice(char const* name, char const* given, char const* const (&known)[Count]) {
    return choice(name, given, std::span<char const* const>(known));
}

// Returns the number, or throws base::UsageError if it is not from `least` to `most`.
std::uint64_t whole(char const* name, std::int64_t given, std::int64_t most, std::int64_t least = 1);

} // namespace thalweg::source::plug_in
