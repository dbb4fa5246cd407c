#include "thalweg/source/samples/unpack.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source/samples/kernels.h"

namespace thalweg::source::samples {

std::vector<UnpackKernel> const& unpack_kernels() {
    static auto const kernels = [] {
        std::vector<UnpackKernel> usable{{"scalar", &scalar_unpack}};
#if defined(__x86_64__)
        if (__builtin_cpu_supports("ssse3")) usable.push_back({"ssse3", &ssse3_unpack});
        if (__builtin_cpu_supports("avx2")) usable.push_back({"avx2", &avx2_unpack});
#endif
        return usable;
    }();
    return kernels;
}

Unpack unpack_of(Packing const& packing) {
    if (auto const unpack = unpack_kernels().back().of(packing)) return unpack;
    base::fail_usage({fmt::format("samples of {} bits cannot be unpacked", packing.bits), "they have 10, 12 or 14 bits",
                      "give another type"});
}

} // namespace thalweg::source::samples
