// The parts that the write queues share.
#pragma once

#include <deque>

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Throws UsageError unless offset, size and address are multiples of a block.
void check_aligned(std::string const& path, std::uint64_t offset, std::span<std::byte const> bytes);

// Moves completions, oldest first, from `done` to `out` and returns how many.
std::size_t hand_out(std::deque<Completion>& done, std::span<Completion> out);

// Writes within submit and reports at reap: for storages where waiting would gain nothing. The offset is known to be
// good when `storage.write` is called.
std::unique_ptr<WriteQueue> make_synchronous_queue(Storage& storage);

} // namespace thalweg::storage
