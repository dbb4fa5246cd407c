// Suggests, for a name that is not known, the known names that the user may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::base {

// The fewest characters that must be inserted, removed, replaced or exchanged with their neighbour.
std::size_t edit_distance(std::string_view left, std::string_view right);

// Returns up to three names of `known` that are similar to `name`, the most similar first. Empty if none is similar.
std::vector<std::string_view> near_misses(std::string_view name, std::span<std::string_view const> known);

// "did you mean 'a' or 'b'?", or "there are a, b, c" if none is similar.
std::string suggest(std::string_view name, std::span<std::string_view const> known);

} // namespace thalweg::base
