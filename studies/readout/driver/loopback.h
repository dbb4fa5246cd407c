// Shared by everything that is sent over loopback.
#pragma once

namespace thalweg::study {

// Every user may set this algorithm, and unlike BBR it needs no timer for pacing.
inline constexpr char const* kCongestionControl = "reno";

} // namespace thalweg::study
