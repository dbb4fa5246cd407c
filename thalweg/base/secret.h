#pragma once

#include <string_view>

namespace thalweg::base {

// Whether `given` is `secret`. The time that it takes depends on the size of `given` alone: who may try again and again
// does not learn from it how much of a guess was right.
bool same_secret(std::string_view given, std::string_view secret);

} // namespace thalweg::base
