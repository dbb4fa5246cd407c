// The functions that a program would have called without this library.
#pragma once

#include "thalweg/interpose/ring.h"
#include "thalweg/interpose/system.h"

extern void* real_functions[OP_COUNT];
void* find_next(unsigned operation, char const* name);

// Looks a function up in libc, of which there is only one.
static inline void* real_next(unsigned operation, char const* name) {
    void* const found = __atomic_load_n(&real_functions[operation], __ATOMIC_RELAXED);
    return likely(found) ? found : find_next(operation, name);
}
#define REAL(name) ((__typeof__(&name))real_next(OP_##name, #name))

// Which of them are known to be those of libc, and no other library's between.
extern bool is_of_libc[OP_COUNT];
// Not zero: the program has one thread, and nothing cancels it.
extern char const volatile* is_alone;
// Threads may be cancelled from now on.
void expect_cancellation(void);
// Looks up what most programs call: what the first child of a process looks up, each of its children looks up again.
void find_usual(void);

// Returns whether a wrapper may make the system call itself that the real function makes and nothing else, which takes
// two jumps less. `waits` says that it is a point of cancellation.
static inline bool is_direct(unsigned operation, bool waits) { return is_of_libc[operation] && (!waits || *is_alone); }

// Makes a system call as functions of libc do.
static inline long ask_kernel(long number, long a, long b, long c, long d) {
    long const result = system_call(number, a, b, c, d);
    if (likely((unsigned long)result < -4095ul)) return result;
    errno = (int)-result;
    return -1;
}

// Looks a function up in a library of which a program may have several in separate scopes, as Python's wheels bring
// theirs. Returns the one that the caller's object is linked to, or else the next one, or else any loaded one, or NULL
// if there is none. `ours` is the wrapper that asks, which is never the result.
void* real_of_caller(char const* name, void* caller, void const* ours);

// Looks a function up in the object that has `function`. Returns NULL if that object does not have it: another library
// with the same functions does not know the identifiers of this one.
void* real_beside(char const* name, void const* function);

typedef uint64_t word;
word call_words(void* function, word const* arguments, unsigned count);
