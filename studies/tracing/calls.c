// Usage: calls WHAT COUNT FILE. Makes so many calls, and prints the CPU time of the thread per call, in nanoseconds. Of
// forks, it is the time of the process and its children.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double of_processes_ns(void) {
    double sum = 0;
    int const whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; ++i) {
        struct rusage used;
        getrusage(whose[i], &used);
        sum += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9;
        sum += (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
    }
    return sum;
}

// A child that does a little I/O, as those of shells do.
static void fork_once(char const* path) {
    pid_t const child = fork();
    if (child == 0) {
        char data[64];
        int const fd = open(path, O_RDONLY);
        _exit(fd < 0 || read(fd, data, sizeof data) < 0 || close(fd) != 0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
}

int main(int count, char** words) {
    if (count != 4) return 2;
    long const calls = atol(words[2]);
    int const fd = open(words[3], O_CREAT | O_RDWR, 0600);
    char* const data = calloc(1, 1 << 16);
    if (fd < 0 || !data) return 1;
    unsigned state = 1;
    int const forks = !strcmp(words[1], "fork");
    double const begin = forks ? of_processes_ns() : now_ns();
    if (!strcmp(words[1], "seek")) {
        for (long i = 0; i < calls; ++i) lseek(fd, 0, SEEK_SET);
    } else if (!strcmp(words[1], "write")) {
        for (long i = 0; i < calls; ++i) pwrite(fd, data, 4096, i % 1024 * 4096);
    } else if (forks) {
        for (long i = 0; i < calls; ++i) fork_once(words[3]);
    } else { // random offsets and sizes
        for (long i = 0; i < calls; ++i) {
            state = state * 1664525u + 1013904223u;
            unsigned const place = state;
            state = state * 1664525u + 1013904223u;
            pwrite(fd, data, state >> 16, place);
        }
    }
    printf("%.3f\n", ((forks ? of_processes_ns() : now_ns()) - begin) / (double)calls);
    return 0;
}
