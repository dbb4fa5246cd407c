// Memory for many numbers.
#pragma once

#include <cstddef>
#include <memory>

namespace quantum_hall {

struct FreeMemory {
    void operator()(double* memory) const;
};
using Memory = std::unique_ptr<double[], FreeMemory>;

// Allocates zeros at the beginning of a huge page, and in huge pages if the system has them, to avoid TLB misses.
Memory allocate(std::size_t doubles);

} // namespace quantum_hall
