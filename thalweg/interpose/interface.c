// What the tracer, which loads this library too, asks it: the layout of the memory, the clock, the recorded operations.
#include <time.h>

#include "thalweg/interpose/ring.h"

EXPORTED uint32_t thalweg_interpose_layout(void) {
    return (uint32_t)(sizeof(struct ring) << 16 | sizeof(struct record));
}

// Returns the clock of the records and that of the system at the same time. The tracer calls it.
EXPORTED void thalweg_interpose_clocks(int with_counter, uint64_t* ticks, uint64_t* nanoseconds) {
    is_counter_used = with_counter != 0;
    struct timespec now;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
        uint64_t const before = clock_ticks();
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t const after = clock_ticks();
        if (after - before >= best) continue;
        best = after - before;
        *ticks = before + best / 2;
        *nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
}

// Returns how long it takes to look at the clock, in picoseconds: a recorded call is longer by this time.
EXPORTED uint64_t thalweg_interpose_clock_picoseconds(int with_counter) {
    enum { LOOKS = 1000 };
    is_counter_used = with_counter != 0;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        for (int look = 0; look < LOOKS; ++look) {
            uint64_t const volatile now = clock_ticks();
            (void)now;
        }
        clock_gettime(CLOCK_MONOTONIC, &after);
        uint64_t const took = (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec);
        if (took < best) best = took;
    }
    return best * 1000 / LOOKS;
}

EXPORTED char const* thalweg_interpose_operation(unsigned operation) {
    static char const* const names[OP_COUNT] = {
#define X(name) [OP_##name] = #name,
        POSIX_OPERATIONS(X) STDIO_OPERATIONS(X)
#undef X
#define X(name, ...) [OP_MPI_##name] = "MPI_" #name, // NOLINT(bugprone-suspicious-missing-comma): one text
            MPI_OPERATIONS(X)
#undef X
#define X(name, ...) [OP_##name] = #name,
                HDF5_OPERATIONS(X)
#undef X
#define X(name) [OP_##name] = #name,
                    WORK_OPERATIONS(X)
#undef X
    };
    return operation < OP_COUNT ? names[operation] ? names[operation] : "" : NULL;
}

EXPORTED unsigned thalweg_interpose_level(unsigned operation) { return level_of(operation); }
