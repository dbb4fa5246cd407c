#include "thalweg/source/samples/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "thalweg/source/samples/lanes.h"

#define THALWEG_SSSE3 __attribute__((target("ssse3")))

namespace thalweg::source::samples {
namespace {

THALWEG_SSSE3 inline __m128i load_128(void const* from) { return _mm_loadu_si128(static_cast<__m128i const*>(from)); }

// A step makes 8 samples of `Bits` bytes, but loads 16 bytes: the last samples are left to the scalar kernel.
template <unsigned Bits, bool HighFirst, bool Signed> struct Ssse3Kernel {
    static constexpr Lanes<Bits, HighFirst> kLanes{};

    THALWEG_SSSE3 static void run(std::byte const* packed, std::size_t count, std::byte* samples) {
        auto const up_bytes = load_128(kLanes.up_bytes.data()), up = load_128(kLanes.up_factors.data());
        auto const down_bytes = load_128(kLanes.down_bytes.data()), down = load_128(kLanes.down_factors.data());
        auto left_bytes = packed_bytes(Bits, count);
        for (; left_bytes >= 16 && count >= 8; left_bytes -= Bits, count -= 8, packed += Bits, samples += 16) {
            auto const bytes = load_128(packed);
            auto lanes = _mm_mullo_epi16(_mm_shuffle_epi8(bytes, up_bytes), up);
            if constexpr (kLanes.kHasDown)
                lanes = _mm_or_si128(lanes, _mm_mulhi_epu16(_mm_shuffle_epi8(bytes, down_bytes), down));
            lanes = Signed ? _mm_srai_epi16(lanes, 16 - Bits) : _mm_srli_epi16(lanes, 16 - Bits);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(samples), lanes);
        }
        scalar_unpack({.bits = Bits, .high_first = HighFirst, .is_signed = Signed})(packed, count, samples);
    }
};

} // namespace

Unpack ssse3_unpack(Packing const& packing) { return kernel_for<Ssse3Kernel>(packing); }

} // namespace thalweg::source::samples
#endif
