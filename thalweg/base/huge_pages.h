// Pages of 2 MiB. A device and a processor look up fewer of them than of 4 KiB: direct writes from such memory are 1.4
// to 1.9 times as fast (studies/record). The system gives them to private memory that asks for them, unless
// /sys/kernel/mm/transparent_hugepage/enabled is "never" or memory is fragmented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/base/units.h"

namespace thalweg::base {

constexpr std::size_t kHugePageBytes = 2 * kMiB;

// Asks for huge pages for what is touched later. This is advice, and never an error.
void advise_huge_pages(std::span<std::byte> memory);

enum class HugePages : std::uint8_t {
    all,  // all of the memory lies in huge pages
    busy, // some of it does not at present: a device reads from it, say
    none, // the system gives none
};

// Moves what lies there into huge pages, which needs Linux 6.1 and no privilege. Shared memory gets none otherwise,
// unless an administrator has allowed them (shmem_enabled). The memory is whole huge pages, mapped at a multiple of
// their size, and allocated; other threads and processes may use it meanwhile. The move costs about as much CPU as the
// faults of ordinary pages that it spares (studies/record).
HugePages move_into_huge_pages(std::span<std::byte> memory);

// Returns whether most of what was touched of this memory lies in huge pages, as /proc/self/smaps says. Memory of which
// it says nothing counts as not. Takes a millisecond in a large process.
bool is_in_huge_pages(std::span<std::byte const> memory);

} // namespace thalweg::base
