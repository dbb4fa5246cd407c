// Usage: pairs WHAT ROUNDS FILE. Each round makes 1000 calls of libc, and 1000 of the function that the program is
// linked to, which may be traced, in alternating order. Prints the CPU time of both in each round, in nanoseconds a
// call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 1000, PLACES = 4096, SIZE = 4096 };

typedef ssize_t move_function(int, void const*, size_t, off_t);
typedef off_t seek_function(int, off_t, int);

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double per_call(int fd, move_function* move, seek_function* seek, char const* data) {
    static long place;
    double const begin = now_ns();
    for (int i = 0; i < CALLS; ++i) {
        if (seek) seek(fd, i, SEEK_SET);
        if (move && move(fd, data, SIZE, place++ % PLACES * SIZE) != SIZE) abort();
    }
    return (now_ns() - begin) / CALLS;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    void* const libc = dlopen("libc.so.6", RTLD_NOW);
    move_function* const moves[] = {(move_function*)dlsym(libc, "pwrite"), pwrite};
    seek_function* const seeks[] = {(seek_function*)dlsym(libc, "lseek"), lseek};
    int const fd = open(words[3], O_CREAT | O_RDWR, 0600), is_seek = !strcmp(words[1], "seek");
    char* const data = calloc(1, SIZE);
    if (fd < 0 || !data || !moves[0] || !seeks[0]) return 1;
    for (long i = 0; i < PLACES; ++i) moves[0](fd, data, SIZE, i * SIZE); // the file has its memory
    for (int round = 0; round < atoi(words[2]); ++round) {
        double took[2];
        for (int i = 0; i < 2; ++i) {
            int const which = (i + round) & 1;
            took[which] = per_call(fd, is_seek ? NULL : moves[which], is_seek ? seeks[which] : NULL, data);
        }
        printf("%.1f %.1f\n", took[0], took[1]);
    }
    return 0;
}
