// Makes Ctrl-C interrupt long calls.
#pragma once

#include <functional>

namespace thalweg::bind {

// Returns a function for long calls that have released the GIL: it lets Python run its signal handlers and throws what
// these raise. It takes the GIL rarely, and does nothing outside the main thread of Python.
std::function<void()> signal_check();

} // namespace thalweg::bind
