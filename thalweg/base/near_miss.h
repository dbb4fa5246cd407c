// For messages about names that are not known: those that were perhaps meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::base {

// The fewest characters that must be inserted, removed, replaced or exchanged with their neighbour.
std::size_t edit_distance(std::string_view left, std::string_view right);

// Of `known`, what `name` may have been meant to be, the nearest first; at most three. Empty where nothing is near.
std::vector<std::string_view> near_misses(std::string_view name, std::span<std::string_view const> known);

// "did you mean 'a' or 'b'?", or "there are a, b, c" where nothing is near.
std::string suggest(std::string_view name, std::span<std::string_view const> known);

} // namespace thalweg::base
