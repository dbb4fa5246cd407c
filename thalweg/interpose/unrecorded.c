// Wraps functions that are not recorded, but after which a descriptor belongs to another file, or the program forbids
// itself system calls. What this library knows of descriptors would be wrong otherwise.
#include <dirent.h>
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/real.h"

static void* next(void* _Atomic* known, char const* name) {
    void* function = atomic_load_explicit(known, memory_order_relaxed);
    if (function) return function;
    int const saved = errno;
    function = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(known, function, memory_order_relaxed);
    errno = saved;
    return function;
}
#define NEXT(name)                                                                                                     \
    static void* _Atomic known;                                                                                        \
    __typeof__(&name) const real = (__typeof__(&name))next(&known, #name)

// Wraps a function that returns a new descriptor.
#define WRAP_NEW(name, parameters, arguments)                                                                          \
    EXPORTED int name parameters {                                                                                     \
        NEXT(name);                                                                                                    \
        int const fd = real arguments;                                                                                 \
        if (fd >= 0) forget_file(fd);                                                                                  \
        return fd;                                                                                                     \
    }
#define ADDRESS struct sockaddr* restrict address, socklen_t* restrict length
WRAP_NEW(socket, (int family, int type, int protocol), (family, type, protocol))
WRAP_NEW(accept, (int fd_of, ADDRESS), (fd_of, address, length))
WRAP_NEW(accept4, (int fd_of, ADDRESS, int flags), (fd_of, address, length, flags))
WRAP_NEW(memfd_create, (char const* name, unsigned flags), (name, flags))
WRAP_NEW(shm_open, (char const* name, int flags, mode_t mode), (name, flags, mode))
WRAP_NEW(mkstemps, (char* path, int suffix), (path, suffix))
WRAP_NEW(mkstemps64, (char* path, int suffix), (path, suffix))
WRAP_NEW(mkostemps, (char* path, int suffix, int flags), (path, suffix, flags))
WRAP_NEW(mkostemps64, (char* path, int suffix, int flags), (path, suffix, flags))
WRAP_NEW(mkostemp64, (char* path, int flags), (path, flags))
WRAP_NEW(eventfd, (unsigned count, int flags), (count, flags))
WRAP_NEW(timerfd_create, (clockid_t clock, int flags), (clock, flags))
WRAP_NEW(inotify_init, (void), ())
WRAP_NEW(inotify_init1, (int flags), (flags))
WRAP_NEW(epoll_create, (int size), (size))
WRAP_NEW(epoll_create1, (int flags), (flags))

EXPORTED int signalfd(int fd, sigset_t const* signals, int flags) {
    NEXT(signalfd);
    int const result = real(fd, signals, flags);
    if (fd == -1 && result >= 0) forget_file(result);
    return result;
}

// Wraps a function that makes two descriptors.
#define WRAP_PAIR(name, parameters, arguments)                                                                         \
    EXPORTED int name parameters {                                                                                     \
        NEXT(name);                                                                                                    \
        int const result = real arguments;                                                                             \
        if (result == 0) forget_file(ends[0]);                                                                         \
        if (result == 0) forget_file(ends[1]);                                                                         \
        return result;                                                                                                 \
    }
WRAP_PAIR(pipe, (int ends[2]), (ends))
WRAP_PAIR(pipe2, (int ends[2], int flags), (ends, flags))
WRAP_PAIR(socketpair, (int family, int type, int protocol, int ends[2]), (family, type, protocol, ends))

#define WRAP_NEW_STREAM(name, parameters, arguments)                                                                   \
    EXPORTED FILE* name parameters {                                                                                   \
        NEXT(name);                                                                                                    \
        FILE* const stream = real arguments;                                                                           \
        if (stream) forget_file(fileno_unlocked(stream));                                                              \
        return stream;                                                                                                 \
    }
WRAP_NEW_STREAM(tmpfile, (void), ())
WRAP_NEW_STREAM(tmpfile64, (void), ())
WRAP_NEW_STREAM(popen, (char const* command, char const* mode), (command, mode))

EXPORTED int pclose(FILE* stream) {
    NEXT(pclose);
    forget_file(stream ? fileno_unlocked(stream) : -1);
    return real(stream);
}
EXPORTED int closedir(DIR* folder) {
    NEXT(closedir);
    forget_file(folder ? dirfd(folder) : -1);
    return real(folder);
}
EXPORTED int fcloseall(void) {
    NEXT(fcloseall);
    int const result = real();
    forget_files(0, ~0u);
    return result;
}
EXPORTED int daemon(int keeps_folder, int keeps_streams) {
    NEXT(daemon);
    int const result = real(keeps_folder, keeps_streams);
    forget_files(0, 2);
    return result;
}

// A message may bring descriptors of another process.
EXPORTED ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
    NEXT(recvmsg);
    ssize_t const result = real(fd, message, flags);
    for (struct cmsghdr* part = result >= 0 ? CMSG_FIRSTHDR(message) : NULL; part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t const count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int brought;
            memcpy(&brought, CMSG_DATA(part) + i * sizeof brought, sizeof brought);
            forget_file(brought);
        }
    }
    return result;
}

// Prepares for the time after which the system ends the program if this library makes a system call: all files that are
// open now get their numbers.
static void begin_confinement(void) {
    enum { ASKED = 64 };
    if (!is_traced()) return;
    write_text(
        TEXT_LIMITED, 0, 0,
        "restricts its system calls (seccomp), so that this library makes none: files that it opens, and threads "
        "and processes that it begins afterwards, are not known");
    for (int fd = 0; fd < ASKED; ++fd) file_of(fd);
    is_confined = true;
}

EXPORTED int prctl(int option, ...) {
    va_list rest;
    va_start(rest, option);
    word a[4];
    for (int i = 0; i < 4; ++i) a[i] = va_arg(rest, word);
    va_end(rest);
    bool const confines = option == PR_SET_SECCOMP && a[0] != 0, is_strict = confines && a[0] == SECCOMP_MODE_STRICT;
    bool const was_counter_used = is_counter_used;
    if (confines) begin_confinement();
    if (is_strict) { // the counter of the processor is forbidden with the calls
        last_ticks = clock_ticks();
        is_counter_used = false;
    }
    long const result = syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
    if (confines && result < 0) {
        is_confined = false;
        last_ticks = 0;
        is_counter_used = was_counter_used;
    }
    return (int)result;
}

// A program with one thread may cancel this one.
EXPORTED int pthread_cancel(pthread_t thread) {
    NEXT(pthread_cancel);
    expect_cancellation();
    return real(thread);
}

// It belongs to libseccomp, which does not call prctl.
EXPORTED int seccomp_load(void* filter);
EXPORTED int seccomp_load(void* filter) {
    int (*const real)(void*) = real_of_caller("seccomp_load", __builtin_return_address(0), (void const*)seccomp_load);
    if (!real) return -ENOSYS;
    begin_confinement();
    int const result = real(filter);
    if (result < 0) is_confined = false;
    return result;
}
