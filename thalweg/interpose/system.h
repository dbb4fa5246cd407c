// Makes system calls without libc: in a forked child, each page of code that is new to it costs a page fault, and so
// does the function that finds errno.
#pragma once

#include <sys/syscall.h>

// Returns the result, or a negative error. errno keeps its value.
static inline long system_call(long number, long a, long b, long c, long d) {
    long result;
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    result = x0;
#endif
    return result;
}
