// Marks the phases of a program, such as "step" or "checkpoint", in a trace of `thalweg trace`. The header is all that
// is needed; without a trace the functions do next to nothing. A program is linked with -ldl if its C library is older
// than glibc 2.34, and is compiled with GNU extensions (_GNU_SOURCE).
//
//     thalweg_region const step = thalweg_region_begin();
//     ...
//     thalweg_region_end(step, "step");
#pragma once

#include <dlfcn.h>
#include <stdint.h>

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void*)0)
#endif

// A structure, so that no compiler makes an int of it without a word: its number has 64 bits.
typedef struct {
    uint64_t begin;
} thalweg_region;

// Returns when a region begins. It ends in the same thread.
static inline thalweg_region thalweg_region_begin(void) {
    uint64_t (*now)(void);
    *(void**)&now = dlsym(RTLD_DEFAULT, "thalweg_interpose_now");
    thalweg_region const region = {now ? now() : 0};
    return region;
}

// Records the region under this name.
static inline void thalweg_region_end(thalweg_region region, char const* name) {
    void (*record)(char const*, uint64_t);
    *(void**)&record = dlsym(RTLD_DEFAULT, "thalweg_interpose_region");
    if (record) record(name, region.begin);
}
