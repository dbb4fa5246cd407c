// Usage: calls WHAT COUNT FILE. Makes so many calls, and prints the CPU time of the thread per call, in nanoseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    long const calls = atol(words[2]);
    int const fd = open(words[3], O_CREAT | O_RDWR, 0600);
    char* const data = calloc(1, 1 << 16);
    if (fd < 0 || !data) return 1;
    unsigned state = 1;
    double const begin = now_ns();
    if (!strcmp(words[1], "seek")) {
        for (long i = 0; i < calls; ++i) lseek(fd, 0, SEEK_SET);
    } else if (!strcmp(words[1], "write")) {
        for (long i = 0; i < calls; ++i) pwrite(fd, data, 4096, i % 1024 * 4096);
    } else { // random offsets and sizes
        for (long i = 0; i < calls; ++i) {
            state = state * 1664525u + 1013904223u;
            unsigned const place = state;
            state = state * 1664525u + 1013904223u;
            pwrite(fd, data, state >> 16, place);
        }
    }
    printf("%.3f\n", (now_ns() - begin) / (double)calls);
    return 0;
}
