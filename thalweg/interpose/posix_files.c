// Wraps POSIX calls about open files: opening and closing, positions, sizes, syncs, locks.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thalweg/interpose/wrap.h"

typedef off64_t off64;

static bool has_mode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

#define WRAP_OPEN(name, folder, parameters, arguments)                                                                 \
    EXPORTED int name parameters {                                                                                     \
        mode_t mode = 0;                                                                                               \
        if (has_mode(flags)) {                                                                                         \
            va_list rest;                                                                                              \
            va_start(rest, flags);                                                                                     \
            mode = va_arg(rest, mode_t);                                                                               \
            va_end(rest);                                                                                              \
        }                                                                                                              \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, 0, 0, -1, thrown_away(folder, path, flags));                                      \
        int const fd = is_direct(OP_##name, true) ? (int)ask_kernel(SYS_openat, folder, (long)path, flags, (long)mode) \
                                                  : REAL(name) arguments;                                              \
        finish_open_call(&call, fd, folder, path, flags);                                                              \
        return fd;                                                                                                     \
    }
WRAP_OPEN(open, AT_FDCWD, (char const* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, AT_FDCWD, (char const* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, at, (int at, char const* path, int flags, ...), (at, path, flags, mode))
WRAP_OPEN(openat64, at, (int at, char const* path, int flags, ...), (at, path, flags, mode))
// Fortified programs call these functions.
EXPORTED int __open_2(char const* path, int flags) { return open(path, flags); }
EXPORTED int __open64_2(char const* path, int flags) { return open64(path, flags); }
EXPORTED int __openat_2(int folder, char const* path, int flags) { return openat(folder, path, flags); }
EXPORTED int __openat64_2(int folder, char const* path, int flags) { return openat64(folder, path, flags); }

#define WRAP_MAKE(name, parameters, arguments, flags)                                                                  \
    EXPORTED int name parameters {                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, 0, 0, -1, thrown_away(AT_FDCWD, path, flags));                                    \
        int const fd = REAL(name) arguments;                                                                           \
        finish_open_call(&call, fd, AT_FDCWD, path, flags);                                                            \
        return fd;                                                                                                     \
    }
WRAP_MAKE(creat, (char const* path, mode_t mode), (path, mode), O_CREAT | O_WRONLY | O_TRUNC)
WRAP_MAKE(creat64, (char const* path, mode_t mode), (path, mode), O_CREAT | O_WRONLY | O_TRUNC)
WRAP_MAKE(mkstemp, (char* path), (path), O_CREAT | O_RDWR | O_EXCL)
WRAP_MAKE(mkstemp64, (char* path), (path), O_CREAT | O_RDWR | O_EXCL)
WRAP_MAKE(mkostemp, (char* path, int flags), (path, flags), O_CREAT | O_RDWR | O_EXCL | flags)

EXPORTED int close(int fd) {
    struct call call;
    // An unknown descriptor was not used: its file is not looked up only to be forgotten.
    begin_call(&call, OP_close, (uint64_t)fd, known_file(fd), -1, -1);
    forget_file(fd);
    int const result = is_direct(OP_close, true) ? (int)ask_kernel(SYS_close, fd, 0, 0, 0) : REAL(close)(fd);
    finish_call(&call, result, result < 0 ? errno : 0);
    return result;
}

EXPORTED int close_range(unsigned first, unsigned last, int flags) {
    if (!(flags & 4)) forget_files(first, last); // CLOSE_RANGE_CLOEXEC closes nothing now
    return (int)syscall(SYS_close_range, first, last, flags);
}
EXPORTED void closefrom(int first) {
    forget_files(first < 0 ? 0 : (unsigned)first, ~0u);
    syscall(SYS_close_range, first < 0 ? 0 : first, ~0u, 0);
}

#define WRAP_DUPLICATE(name, parameters, arguments)                                                                    \
    EXPORTED int name parameters {                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)fd, file_of(fd), -1, -1);                                               \
        int const copy = REAL(name) arguments;                                                                         \
        if (copy >= 0) same_file(fd, copy);                                                                            \
        finish_call(&call, copy, copy < 0 ? errno : 0);                                                                \
        return copy;                                                                                                   \
    }
WRAP_DUPLICATE(dup, (int fd), (fd))
WRAP_DUPLICATE(dup2, (int fd, int as), (fd, as))
WRAP_DUPLICATE(dup3, (int fd, int as, int flags), (fd, as, flags))

// Only duplicates and locks are recorded.
#define WRAP_CONTROL(name)                                                                                             \
    EXPORTED int name(int fd, int command, ...) {                                                                      \
        va_list rest;                                                                                                  \
        va_start(rest, command);                                                                                       \
        void* const argument = va_arg(rest, void*);                                                                    \
        va_end(rest);                                                                                                  \
        bool const is_copy = command == F_DUPFD || command == F_DUPFD_CLOEXEC;                                         \
        bool const is_lock =                                                                                           \
            command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;            \
        if (!is_copy && !is_lock) return REAL(name)(fd, command, argument);                                            \
        struct flock const* const lock = is_lock ? argument : NULL;                                                    \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)fd, file_of(fd), lock ? lock->l_start : -1, lock ? lock->l_len : -1);   \
        call.extra = (uint16_t)command;                                                                                \
        int const result = REAL(name)(fd, command, argument);                                                          \
        if (is_copy && result >= 0) same_file(fd, result);                                                             \
        finish_call(&call, result, result < 0 ? errno : 0);                                                            \
        return result;                                                                                                 \
    }
WRAP_CONTROL(fcntl)
WRAP_CONTROL(fcntl64)
WRAP_FD(int, flock, (int fd, int how), (fd, how), -1, -1)
WRAP_FD(int, lockf, (int fd, int how, off_t size), (fd, how, size), -1, size)
WRAP_FD(int, lockf64, (int fd, int how, off64 size), (fd, how, size), -1, size)

WRAP_SYSTEM(off_t, lseek, (int fd, off_t at, int from), (fd, at, from), at, -1, false, (SYS_lseek, fd, at, from, 0))
WRAP_SYSTEM(off64, lseek64, (int fd, off64 at, int from), (fd, at, from), at, -1, false, (SYS_lseek, fd, at, from, 0))
WRAP_FD(int, fsync, (int fd), (fd), -1, -1)
WRAP_FD(int, fdatasync, (int fd), (fd), -1, -1)
WRAP_FD(int, syncfs, (int fd), (fd), -1, -1)
WRAP_FD(int, sync_file_range, (int fd, off64 at, off64 size, unsigned flags), (fd, at, size, flags), at, size)
EXPORTED void sync(void) {
    struct call call;
    begin_call(&call, OP_sync, 0, 0, -1, -1);
    REAL(sync)();
    finish_call(&call, 0, 0);
}
WRAP_FD(int, ftruncate, (int fd, off_t size), (fd, size), -1, size)
WRAP_FD(int, ftruncate64, (int fd, off64 size), (fd, size), -1, size)
WRAP_FD(int, fallocate, (int fd, int how, off_t at, off_t size), (fd, how, at, size), at, size)
WRAP_FD(int, fallocate64, (int fd, int how, off64 at, off64 size), (fd, how, at, size), at, size)
// These functions return the error.
#define WRAP_CODE(name, parameters, arguments, at, size)                                                               \
    EXPORTED int name parameters {                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)fd, file_of(fd), at, size);                                             \
        int const result = REAL(name) arguments;                                                                       \
        finish_call(&call, result, result);                                                                            \
        return result;                                                                                                 \
    }
WRAP_CODE(posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), at, size)
WRAP_CODE(posix_fallocate64, (int fd, off64 at, off64 size), (fd, at, size), at, size)
WRAP_CODE(posix_fadvise, (int fd, off_t at, off_t size, int advice), (fd, at, size, advice), at, size)
WRAP_CODE(posix_fadvise64, (int fd, off64 at, off64 size, int advice), (fd, at, size, advice), at, size)
