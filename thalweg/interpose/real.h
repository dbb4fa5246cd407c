// The functions that a program would have called without us.
#pragma once

#include "thalweg/interpose/ring.h"

extern void* real_functions[OP_COUNT];
void* find_next(unsigned operation, char const* name);

// Of libc, of which there is one.
static inline void* real_next(unsigned operation, char const* name) {
    void* const found = __atomic_load_n(&real_functions[operation], __ATOMIC_RELAXED);
    return likely(found) ? found : find_next(operation, name);
}
#define REAL(name) ((__typeof__(&name))real_next(OP_##name, #name))

// Of a library of which a program may have several in scopes of their own, as Python's wheels bring theirs: the one
// that the caller's object is linked to, else the next one, else any that is loaded. NULL: there is none. `ours`: the
// wrapper that asks, which is never the answer.
void* real_of_caller(char const* name, void* caller, void const* ours);

typedef uint64_t word;
word call_words(void* function, word const* arguments, unsigned count);
