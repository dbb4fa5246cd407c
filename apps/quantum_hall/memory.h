// Memory for many numbers.
#pragma once

#include <cstddef>
#include <memory>

namespace quantum_hall {

struct FreeMemory {
    void operator()(double* memory) const;
};
using Memory = std::unique_ptr<double[], FreeMemory>;

// Zeros, at the beginning of a huge page and in huge pages where the system has them, which spares misses of the TLB.
Memory allocate(std::size_t doubles);

} // namespace quantum_hall
