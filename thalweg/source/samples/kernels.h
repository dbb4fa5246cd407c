// The kernels of unpack.h, each in a file of its own.
#pragma once

#include <cstddef>

#include "thalweg/source/samples/unpack.h"

namespace thalweg::source::samples {

Unpack scalar_unpack(Packing const& packing);
#if defined(__x86_64__)
Unpack ssse3_unpack(Packing const& packing);
Unpack avx2_unpack(Packing const& packing);
#endif

// The function of a packing, from a template over its members.
template <template <unsigned, bool, bool> typename Kernel> Unpack kernel_for(Packing const& packing) {
    auto const pick = [&]<unsigned Bits>() -> Unpack {
        if (packing.high_first)
            return packing.is_signed ? Kernel<Bits, true, true>::run : Kernel<Bits, true, false>::run;
        return packing.is_signed ? Kernel<Bits, false, true>::run : Kernel<Bits, false, false>::run;
    };
    switch (packing.bits) {
    case 10:
        return pick.template operator()<10>();
    case 12:
        return pick.template operator()<12>();
    case 14:
        return pick.template operator()<14>();
    default:
        return nullptr;
    }
}

} // namespace thalweg::source::samples
