// Storage with a law that is known, preloaded into any program: each piece of a transfer takes latency + bytes /
// bandwidth on the server that holds its stripe, and a server does one piece at a time. The time of the real transfer
// is part of that time: the law does not depend on how fast the memory of the machine is.
//   LAW_FOLDER      files below it obey the law; all others are as fast as they are
//   LAW_SERVERS     number of servers; 0: transfers do not wait for each other
//   LAW_STRIPE      bytes of a stripe
//   LAW_LATENCY_US  microseconds of a piece
//   LAW_BANDWIDTH   bytes a second of a server
//   LAW_STATE       folder for what the processes of a run share: locks of the servers, counts
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct counts { // int64 each, little endian; tests read the file
    atomic_long now, most, transfers, bytes;
};

static struct {
    char folder[PATH_MAX], state[PATH_MAX - 64];
    long servers, stripe, latency_ns;
    double bandwidth;
    struct counts* counts;
} law;

static long number(char const* name, long otherwise) {
    char const* text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int open_in_state(char const* name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", law.state, name);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) {
    if (!getenv("LAW_FOLDER") || !getenv("LAW_STATE")) return;
    snprintf(law.state, sizeof law.state, "%s", getenv("LAW_STATE"));
    law.servers = number("LAW_SERVERS", 0);
    law.stripe = number("LAW_STRIPE", 1 << 20);
    law.latency_ns = number("LAW_LATENCY_US", 0) * 1000;
    law.bandwidth = (double)number("LAW_BANDWIDTH", 1000000000);
    int const file = open_in_state("counts");
    if (file < 0 || ftruncate(file, sizeof *law.counts) != 0) abort();
    law.counts = mmap(NULL, sizeof *law.counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (law.counts == MAP_FAILED) abort();
    close(file);
    snprintf(law.folder, sizeof law.folder, "%s/", getenv("LAW_FOLDER"));
}

static int obeys(int fd) {
    char link[64], path[PATH_MAX];
    if (!law.folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t const length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return strncmp(path, law.folder, strlen(law.folder)) == 0;
}

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

// Each piece opens the file of its server: the lock excludes threads of this process, too.
static int acquire(off_t stripe) {
    if (law.servers == 0) return -1;
    char name[32];
    snprintf(name, sizeof name, "server-%ld", (long)(stripe % law.servers));
    int const server = open_in_state(name);
    while (flock(server, LOCK_EX) != 0 && errno == EINTR) {
    }
    return server;
}

static void release(int server) {
    if (server >= 0) close(server);
}

// Sleeps for the rest of a piece, of whose time so much is spent. Returns what is spent of the time of the next one.
static long serve(size_t bytes, long spent_ns) {
    long const due_ns = law.latency_ns + (long)((double)bytes / law.bandwidth * 1e9) - spent_ns;
    if (due_ns <= 0) return -due_ns;
    long const begin_ns = now_ns();
    struct timespec left = {due_ns / 1000000000, due_ns % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
    return now_ns() - begin_ns - due_ns;
}

struct transfer {
    off_t at;
    size_t bytes; // 0: it does not obey the law
    int server;   // of the first piece
    long begin_ns;
};

static struct transfer begin_transfer(int fd, off_t at, size_t bytes) {
    int const before = errno;
    struct transfer made = {at, 0, -1, 0};
    if (bytes > 0 && obeys(fd)) {
        long const now = atomic_fetch_add(&law.counts->now, 1) + 1;
        long most = atomic_load(&law.counts->most);
        while (now > most && !atomic_compare_exchange_weak(&law.counts->most, &most, now)) {
        }
        atomic_fetch_add(&law.counts->transfers, 1);
        atomic_fetch_add(&law.counts->bytes, (long)bytes);
        made.bytes = bytes;
        made.server = acquire(at / law.stripe);
        made.begin_ns = now_ns();
    }
    errno = before;
    return made;
}

static void end_transfer(struct transfer of) {
    if (of.bytes == 0) return;
    int const before = errno;
    long spent_ns = now_ns() - of.begin_ns;
    while (1) {
        size_t const rest = (size_t)(law.stripe - of.at % law.stripe), piece = of.bytes < rest ? of.bytes : rest;
        spent_ns = serve(piece, spent_ns);
        release(of.server);
        of.at += (off_t)piece;
        of.bytes -= piece;
        if (of.bytes == 0) break;
        of.server = acquire(of.at / law.stripe);
    }
    atomic_fetch_sub(&law.counts->now, 1);
    errno = before;
}

static size_t sum(struct iovec const* pieces, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    return bytes;
}

#define OBEY(name, parameters, arguments, at, bytes)                                                                   \
    __attribute__((visibility("default"))) ssize_t name parameters {                                                   \
        ssize_t(*real) parameters;                                                                                     \
        void* const found = dlsym(RTLD_NEXT, #name);                                                                   \
        memcpy(&real, &found, sizeof real);                                                                            \
        struct transfer const made = begin_transfer(fd, at, bytes);                                                    \
        ssize_t const done = real arguments;                                                                           \
        end_transfer(made);                                                                                            \
        return done;                                                                                                   \
    }

OBEY(write, (int fd, void const* from, size_t size), (fd, from, size), lseek(fd, 0, SEEK_CUR), size)
OBEY(pwrite, (int fd, void const* from, size_t size, off_t at), (fd, from, size, at), at, size)
OBEY(pwrite64, (int fd, void const* from, size_t size, off64_t at), (fd, from, size, at), at, size)
OBEY(pwritev, (int fd, struct iovec const* from, int count, off_t at), (fd, from, count, at), at, sum(from, count))
OBEY(pwritev64, (int fd, struct iovec const* from, int count, off64_t at), (fd, from, count, at), at, sum(from, count))
OBEY(read, (int fd, void* to, size_t size), (fd, to, size), lseek(fd, 0, SEEK_CUR), size)
OBEY(pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at), at, size)
OBEY(pread64, (int fd, void* to, size_t size, off64_t at), (fd, to, size, at), at, size)
