// Ctrl-C in the midst of long calls.
#pragma once

#include <functional>

namespace thalweg::bind {

// Called now and then by a call that has released the GIL: lets Python run its signal handlers, and throws what these
// raise. Not so often that it costs others the GIL; in other threads than Python's first one it does nothing.
std::function<void()> signal_check();

} // namespace thalweg::bind
