// Copies memory without a function of libc: in a forked child, each page of code that is new to it costs a page fault.
#pragma once

#include <stddef.h>
#include <string.h>

static inline void copy_bytes(void* to, void const* from, size_t count) {
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
    memcpy(to, from, count);
#endif
}
