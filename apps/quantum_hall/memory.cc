#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace quantum_hall {

void FreeMemory::operator()(double* memory) const { std::free(memory); }

Memory allocate(std::size_t doubles) {
    constexpr std::size_t huge_page = std::size_t{1} << 21, page = std::size_t{1} << 12;
    auto const size = doubles * sizeof(double);
    auto const alignment = size < huge_page ? page : huge_page;
    auto const bytes = (size + alignment - 1) / alignment * alignment;
    auto* const memory = static_cast<double*>(std::aligned_alloc(alignment, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    if (alignment == huge_page) madvise(memory, bytes, MADV_HUGEPAGE); // only a request
    std::fill_n(memory, doubles, 0.0);
    return Memory(memory);
}

} // namespace quantum_hall
