#include "thalweg/source/samples/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "thalweg/source/samples/lanes.h"

#define THALWEG_AVX2_SAMPLES __attribute__((target("avx2")))

namespace thalweg::source::samples {
namespace {

THALWEG_AVX2_SAMPLES inline __m256i load_twice(void const* from) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<__m128i const*>(from)));
}

// A step makes 16 samples, 8 in each half of the vector: a shuffle of bytes does not cross the halves.
template <unsigned Bits, bool HighFirst, bool Signed> struct Avx2Kernel {
    static constexpr Lanes<Bits, HighFirst> kLanes{};
    static constexpr std::size_t kStepBytes = 2 * std::size_t{Bits};

    THALWEG_AVX2_SAMPLES static void run(std::byte const* packed, std::size_t count, std::byte* samples) {
        auto const up_bytes = load_twice(kLanes.up_bytes.data()), up = load_twice(kLanes.up_factors.data());
        auto const down_bytes = load_twice(kLanes.down_bytes.data()), down = load_twice(kLanes.down_factors.data());
        auto left_bytes = packed_bytes(Bits, count);
        while (left_bytes >= Bits + 16 && count >= 16) {
            auto const low = _mm_loadu_si128(reinterpret_cast<__m128i const*>(packed));
            auto const high = _mm_loadu_si128(reinterpret_cast<__m128i const*>(packed + Bits));
            auto const bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
            auto lanes = _mm256_mullo_epi16(_mm256_shuffle_epi8(bytes, up_bytes), up);
            if constexpr (kLanes.kHasDown)
                lanes = _mm256_or_si256(lanes, _mm256_mulhi_epu16(_mm256_shuffle_epi8(bytes, down_bytes), down));
            lanes = Signed ? _mm256_srai_epi16(lanes, 16 - Bits) : _mm256_srli_epi16(lanes, 16 - Bits);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(samples), lanes);
            left_bytes -= kStepBytes, count -= 16, packed += kStepBytes, samples += 32;
        }
        scalar_unpack({.bits = Bits, .high_first = HighFirst, .is_signed = Signed})(packed, count, samples);
    }
};

} // namespace

Unpack avx2_unpack(Packing const& packing) { return kernel_for<Avx2Kernel>(packing); }

} // namespace thalweg::source::samples
#endif
