#pragma once

#include <cstddef>
#include <functional>

namespace thalweg::base {

// The number of processors that this process may run on.
unsigned usable_cores();

// Calls `work(index)` for every index below `count` from up to `threads` threads (the caller is one of them), each
// index once, in increasing order per thread. The first exception is thrown again here; indices not yet begun are
// then skipped.
void parallel_for(std::size_t count, unsigned threads, std::function<void(std::size_t)> const& work);

} // namespace thalweg::base
