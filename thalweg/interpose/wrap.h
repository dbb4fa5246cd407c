// Makes wrappers of functions of libc, in one line each.
#pragma once

#include <fcntl.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/real.h"

// Records `name` around the real function; `failed` says which results mean an error.
#define WRAP(type, name, parameters, arguments, handle, file, offset, size, failed)                                    \
    EXPORTED type name parameters {                                                                                    \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)(handle), file, (int64_t)(offset), (int64_t)(size));                    \
        type const result = REAL(name) arguments;                                                                      \
        finish_call(&call, (int64_t)result, (failed) ? errno : 0);                                                     \
        return result;                                                                                                 \
    }
// Wraps a function of a descriptor `fd`.
#define WRAP_FD(type, name, parameters, arguments, offset, size)                                                       \
    WRAP(type, name, parameters, arguments, fd, file_of(fd), offset, size, result < 0)
// Wraps a function of a descriptor that makes one system call and nothing else; `waits`: it may end its thread.
#define WRAP_SYSTEM(type, name, parameters, arguments, offset, size, waits, words)                                     \
    EXPORTED type name parameters {                                                                                    \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)fd, file_of(fd), (int64_t)(offset), (int64_t)(size));                   \
        type const result = is_direct(OP_##name, waits) ? (type)ask_kernel words : REAL(name) arguments;               \
        finish_call(&call, (int64_t)result, result < 0 ? errno : 0);                                                   \
        return result;                                                                                                 \
    }
// Wraps a function of a path, which is recorded, too.
#define WRAP_PATH(type, name, parameters, arguments, size)                                                             \
    EXPORTED type name parameters {                                                                                    \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, 0, 0, -1, (int64_t)(size));                                                       \
        type const result = REAL(name) arguments;                                                                      \
        int const saved = errno;                                                                                       \
        if (call.slot >= 0 && path) write_text(TEXT_PATH, 0, 0, path);                                                 \
        finish_call(&call, (int64_t)result, result < 0 ? saved : 0);                                                   \
        errno = saved;                                                                                                 \
        return result;                                                                                                 \
    }

// Returns how many bytes an open with O_TRUNC removes from an existing file; -1: none.
int64_t thrown_away(int folder, char const* path, int flags);

// Returns whether the path alone says which file was opened.
static inline bool is_its_path(int folder, char const* path, int flags) {
    return (folder == AT_FDCWD || *path == '/') && (flags & O_TMPFILE) != O_TMPFILE;
}

// Finishes the record of an open: the descriptor belongs to another file from now on, or there is none, and the path is
// recorded as it was given.
static inline void finish_open_call(struct call* call, int fd, int folder, char const* path, int flags) {
    int const error = fd < 0 ? errno : 0;
    if (fd >= 0 && call->slot < 0) forget_file(fd);
    if (call->slot >= 0) {
        call->extra = (uint16_t)flags;
        if (fd >= 0)
            call->file = file_of_opened(fd, is_its_path(folder, path, flags) ? path : NULL);
        else if (path)
            write_text(TEXT_PATH, 0, 0, path);
        call->handle = (uint64_t)fd;
    }
    finish_call(call, fd, error);
}
