// The folder dataset/ is compiled once more for the simulator, with the calls that ThreadSanitizer inserts before every
// access to memory. Here these calls mean: each atomic operation, and each store into shared memory, is a step. Between
// two steps another thread may go on, or the process may be killed. (Memory order is not simulated: ThreadSanitizer
// itself checks that.)
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/simulator/world.h"

namespace {

using thalweg::simulator::this_world;

void step() {
    if (this_world != nullptr) this_world->step();
}

void step_if_shared(void const* address) {
    if (this_world != nullptr && this_world->is_shared(address)) this_world->step();
}

} // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): these names are the compiler's.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, std::size_t) {}
void __tsan_write_range(void* address, std::size_t) { step_if_shared(address); }

#define THALWEG_PLAIN(size)                                                                                            \
    void __tsan_read##size(void*) {}                                                                                   \
    void __tsan_unaligned_read##size(void*) {}                                                                         \
    void __tsan_volatile_read##size(void*) {}                                                                          \
    void __tsan_write##size(void* address) { step_if_shared(address); }                                                \
    void __tsan_unaligned_write##size(void* address) { step_if_shared(address); }                                      \
    void __tsan_volatile_write##size(void* address) { step_if_shared(address); }
THALWEG_PLAIN(1)
THALWEG_PLAIN(2)
THALWEG_PLAIN(4)
THALWEG_PLAIN(8)
THALWEG_PLAIN(16)

#define THALWEG_FETCH(bits, name)                                                                                      \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_##name(std::uint##bits##_t volatile* at,                           \
                                                           std::uint##bits##_t value, int) {                           \
        step();                                                                                                        \
        return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                                                     \
    }
#define THALWEG_ATOMIC(bits)                                                                                           \
    std::uint##bits##_t __tsan_atomic##bits##_load(std::uint##bits##_t const volatile* at, int) {                      \
        step();                                                                                                        \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(std::uint##bits##_t volatile* at, std::uint##bits##_t value, int) {               \
        step();                                                                                                        \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_exchange(std::uint##bits##_t volatile* at, std::uint##bits##_t value,    \
                                                       int) {                                                          \
        step();                                                                                                        \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_strong(                                                                \
        std::uint##bits##_t volatile* at, std::uint##bits##_t* expected, std::uint##bits##_t value, int, int) {        \
        step();                                                                                                        \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
    }                                                                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_weak(std::uint##bits##_t volatile* at, std::uint##bits##_t* expected,  \
                                                     std::uint##bits##_t value, int first, int second) {               \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, first, second);                      \
    }                                                                                                                  \
    THALWEG_FETCH(bits, add)                                                                                           \
    THALWEG_FETCH(bits, sub)                                                                                           \
    THALWEG_FETCH(bits, and)                                                                                           \
    THALWEG_FETCH(bits, or)                                                                                            \
    THALWEG_FETCH(bits, xor)
THALWEG_ATOMIC(8)
THALWEG_ATOMIC(16)
THALWEG_ATOMIC(32)
THALWEG_ATOMIC(64)

void __tsan_atomic_thread_fence(int) { step(); }
void __tsan_atomic_signal_fence(int) {}
} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
