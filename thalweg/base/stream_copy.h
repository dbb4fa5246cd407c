// Copies bytes that are not read soon, past the processor's cache where that can be: memory that is only written is not
// read first then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace thalweg::base {

inline void stream_copy(std::byte* to, std::span<std::byte const> from) {
#ifdef __SSE2__
    constexpr std::size_t kLine = 64;
    auto const misplaced = reinterpret_cast<std::uintptr_t>(to) % kLine;
    auto const head = misplaced == 0 ? 0 : kLine - misplaced;
    if (from.size() > head + kLine) {
        std::memcpy(to, from.data(), head);
        to += head;
        from = from.subspan(head);
        for (; from.size() >= kLine; to += kLine, from = from.subspan(kLine)) {
            auto const* const source = reinterpret_cast<__m128i const*>(from.data());
            auto* const target = reinterpret_cast<__m128i*>(to);
            __m128i const a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
            __m128i const c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
            _mm_stream_si128(target, a);
            _mm_stream_si128(target + 1, b);
            _mm_stream_si128(target + 2, c);
            _mm_stream_si128(target + 3, d);
        }
        _mm_sfence(); // a thread that sees what comes behind sees these bytes, too
    }
#endif
    std::memcpy(to, from.data(), from.size());
}

} // namespace thalweg::base
