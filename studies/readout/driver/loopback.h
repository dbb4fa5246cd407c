// What all that is sent over loopback has in common.
#pragma once

namespace thalweg::study {

// Everybody has it and may set it, and unlike BBR it needs no timer to pace what goes nowhere.
inline constexpr char const* kCongestionControl = "reno";

} // namespace thalweg::study
