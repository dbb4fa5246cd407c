// Lets a thread wait for its own end.
#pragma once

#include <cstdint>
#include <stop_token>

namespace thalweg::base {

// At most for so long: until it is asked to stop.
void sleep_ns(std::stop_token const& stop, std::uint64_t duration_ns);

} // namespace thalweg::base
