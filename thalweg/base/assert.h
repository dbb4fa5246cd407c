// Checks of what must hold whatever users, files and machines do. One that fails is a fault of ours, and nothing that
// is done afterwards can be trusted: the process says what it found and ends at once. That loses no row which an
// `append` has taken, because these lie in memory that outlives the process.
//
// THALWEG_ASSERT is for checks that cost next to nothing; it is always on. THALWEG_ASSERT_COSTLY is for those that walk
// over something; it is on in tests and under sanitizers. Wrong input is no fault of ours: see error.h.
#pragma once

#include <atomic>

namespace thalweg::base {

[[noreturn]] void fail_assertion(char const* condition, char const* text, char const* file, int line) noexcept;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCostlyAssertions = true;
#else
inline constexpr bool kCostlyAssertions = false;
#endif

// What tests set before they begin.
inline std::atomic<bool> costly_assertions = kCostlyAssertions;

} // namespace thalweg::base

#define THALWEG_ASSERT(condition, text)                                                                                \
    do {                                                                                                               \
        if (!(condition)) [[unlikely]]                                                                                 \
            ::thalweg::base::fail_assertion(#condition, text, __FILE__, __LINE__);                                     \
    } while (false)

#define THALWEG_ASSERT_COSTLY(condition, text)                                                                         \
    do {                                                                                                               \
        if (::thalweg::base::costly_assertions.load(std::memory_order_relaxed)) THALWEG_ASSERT(condition, text);       \
    } while (false)
