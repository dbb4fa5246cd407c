// Wraps POSIX calls about names of files, and about what the system knows of a file: its size, times, owner,
// permissions.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "thalweg/interpose/wrap.h"

typedef off64_t off64;

WRAP_PATH(int, truncate, (char const* path, off_t size), (path, size), size)
WRAP_PATH(int, truncate64, (char const* path, off64 size), (path, size), size)
WRAP_PATH(int, rename, (char const* path, char const* to), (path, to), -1)
WRAP_PATH(int, renameat, (int folder, char const* path, int other, char const* to), (folder, path, other, to), -1)
WRAP_PATH(int, renameat2, (int folder, char const* path, int other, char const* to, unsigned flags),
          (folder, path, other, to, flags), -1)
WRAP_PATH(int, link, (char const* path, char const* to), (path, to), -1)
WRAP_PATH(int, symlink, (char const* path, char const* to), (path, to), -1)
WRAP_PATH(int, unlink, (char const* path), (path), -1)
WRAP_PATH(int, unlinkat, (int folder, char const* path, int flags), (folder, path, flags), -1)
WRAP_PATH(int, remove, (char const* path), (path), -1)
WRAP_PATH(int, mkdir, (char const* path, mode_t mode), (path, mode), -1)
WRAP_PATH(int, rmdir, (char const* path), (path), -1)
WRAP_PATH(int, stat, (char const* path, struct stat* to), (path, to), -1)
WRAP_PATH(int, stat64, (char const* path, struct stat64* to), (path, to), -1)
WRAP_PATH(int, lstat, (char const* path, struct stat* to), (path, to), -1)
WRAP_PATH(int, lstat64, (char const* path, struct stat64* to), (path, to), -1)
WRAP_PATH(int, fstatat, (int folder, char const* path, struct stat* to, int flags), (folder, path, to, flags), -1)
WRAP_PATH(int, fstatat64, (int folder, char const* path, struct stat64* to, int flags), (folder, path, to, flags), -1)
WRAP_PATH(int, statx, (int folder, char const* path, int flags, unsigned mask, struct statx* to),
          (folder, path, flags, mask, to), -1)
WRAP_PATH(int, access, (char const* path, int mode), (path, mode), -1)
WRAP_PATH(int, faccessat, (int folder, char const* path, int mode, int flags), (folder, path, mode, flags), -1)
WRAP_PATH(int, mkdirat, (int folder, char const* path, mode_t mode), (folder, path, mode), -1)
WRAP_PATH(int, mknod, (char const* path, mode_t mode, dev_t device), (path, mode, device), -1)
WRAP_PATH(int, mkfifo, (char const* path, mode_t mode), (path, mode), -1)
WRAP_PATH(int, linkat, (int folder, char const* path, int other, char const* to, int flags),
          (folder, path, other, to, flags), -1)
WRAP_PATH(int, symlinkat, (char const* path, int folder, char const* to), (path, folder, to), -1)
WRAP_PATH(ssize_t, readlink, (char const* path, char* to, size_t size), (path, to, size), size)
WRAP_PATH(ssize_t, readlinkat, (int folder, char const* path, char* to, size_t size), (folder, path, to, size), size)
WRAP_PATH(int, euidaccess, (char const* path, int mode), (path, mode), -1)
WRAP_PATH(int, eaccess, (char const* path, int mode), (path, mode), -1)
WRAP_PATH(int, chmod, (char const* path, mode_t mode), (path, mode), -1)
WRAP_PATH(int, lchmod, (char const* path, mode_t mode), (path, mode), -1)
WRAP_PATH(int, fchmodat, (int folder, char const* path, mode_t mode, int flags), (folder, path, mode, flags), -1)
WRAP_PATH(int, chown, (char const* path, uid_t user, gid_t group), (path, user, group), -1)
WRAP_PATH(int, lchown, (char const* path, uid_t user, gid_t group), (path, user, group), -1)
WRAP_PATH(int, fchownat, (int folder, char const* path, uid_t user, gid_t group, int flags),
          (folder, path, user, group, flags), -1)
WRAP_PATH(int, utime, (char const* path, struct utimbuf const* times), (path, times), -1)
WRAP_PATH(int, utimes, (char const* path, struct timeval const times[2]), (path, times), -1)
WRAP_PATH(int, lutimes, (char const* path, struct timeval const times[2]), (path, times), -1)
WRAP_PATH(int, futimesat, (int folder, char const* path, struct timeval const times[2]), (folder, path, times), -1)
WRAP_PATH(int, utimensat, (int folder, char const* path, struct timespec const times[2], int flags),
          (folder, path, times, flags), -1)
WRAP_PATH(int, statfs, (char const* path, struct statfs* to), (path, to), -1)
WRAP_PATH(int, statfs64, (char const* path, struct statfs64* to), (path, to), -1)
WRAP_PATH(int, statvfs, (char const* path, struct statvfs* to), (path, to), -1)
WRAP_PATH(int, statvfs64, (char const* path, struct statvfs64* to), (path, to), -1)
WRAP_PATH(ssize_t, getxattr, (char const* path, char const* name, void* to, size_t size), (path, name, to, size), size)
WRAP_PATH(ssize_t, lgetxattr, (char const* path, char const* name, void* to, size_t size), (path, name, to, size), size)
WRAP_PATH(int, setxattr, (char const* path, char const* name, void const* from, size_t size, int flags),
          (path, name, from, size, flags), size)
WRAP_PATH(ssize_t, listxattr, (char const* path, char* to, size_t size), (path, to, size), size)
WRAP_PATH(ssize_t, llistxattr, (char const* path, char* to, size_t size), (path, to, size), size)
WRAP_FD(ssize_t, fgetxattr, (int fd, char const* name, void* to, size_t size), (fd, name, to, size), -1, size)
WRAP_FD(int, fsetxattr, (int fd, char const* name, void const* from, size_t size, int flags),
        (fd, name, from, size, flags), -1, size)
WRAP_FD(ssize_t, flistxattr, (int fd, char* to, size_t size), (fd, to, size), -1, size)
WRAP_FD(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, -1)
WRAP_FD(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), -1, -1)
WRAP_FD(int, futimes, (int fd, struct timeval const times[2]), (fd, times), -1, -1)
WRAP_FD(int, futimens, (int fd, struct timespec const times[2]), (fd, times), -1, -1)
WRAP_FD(int, fstatfs, (int fd, struct statfs* to), (fd, to), -1, -1)
WRAP_FD(int, fstatfs64, (int fd, struct statfs64* to), (fd, to), -1, -1)
WRAP_FD(int, fstatvfs, (int fd, struct statvfs* to), (fd, to), -1, -1)
WRAP_FD(int, fstatvfs64, (int fd, struct statvfs64* to), (fd, to), -1, -1)
WRAP_FD(int, fstat, (int fd, struct stat* to), (fd, to), -1, -1)
WRAP_FD(int, fstat64, (int fd, struct stat64* to), (fd, to), -1, -1)

EXPORTED DIR* opendir(char const* path) {
    struct call call;
    begin_call(&call, OP_opendir, 0, 0, -1, -1);
    DIR* const result = REAL(opendir)(path);
    int const saved = errno;
    if (result) forget_file(dirfd(result));
    if (call.slot >= 0) write_text(TEXT_PATH, 0, 0, path);
    finish_call(&call, result ? 0 : -1, result ? 0 : saved);
    errno = saved;
    return result;
}

// Fortified programs call these functions.
extern void __chk_fail(void) __attribute__((noreturn));
EXPORTED ssize_t __readlink_chk(char const* path, char* to, size_t size, size_t capacity) {
    if (size > capacity) __chk_fail();
    return readlink(path, to, size);
}
EXPORTED ssize_t __readlinkat_chk(int folder, char const* path, char* to, size_t size, size_t capacity) {
    if (size > capacity) __chk_fail();
    return readlinkat(folder, path, to, size);
}

// Programs that were built with a C library older than 2.33, as many wheels of Python are, call these functions. They
// are recorded under the name in the source code. The system calls are made here, since newer libraries hide the
// functions.
enum { NEWEST_STAT = 1 };
#define WRAP_OLD_STAT(name, operation, parameters, folder, path, fd_of, flags)                                         \
    EXPORTED int name parameters {                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##operation, (uint64_t)(fd_of), (fd_of) < 0 ? 0 : file_of(fd_of), -1, -1);                \
        int result = -1;                                                                                               \
        if (version < 0 || version > NEWEST_STAT)                                                                      \
            errno = EINVAL;                                                                                            \
        else                                                                                                           \
            result = (int)syscall(SYS_newfstatat, folder, path, to, flags);                                            \
        int const saved = errno;                                                                                       \
        if (call.slot >= 0 && (fd_of) < 0) write_text(TEXT_PATH, 0, 0, path);                                          \
        finish_call(&call, result, result < 0 ? saved : 0);                                                            \
        errno = saved;                                                                                                 \
        return result;                                                                                                 \
    }
#define WRAP_OLD_STATS(suffix, type)                                                                                   \
    WRAP_OLD_STAT(__xstat##suffix, stat##suffix, (int version, char const* path, type* to), AT_FDCWD, path, -1, 0)     \
    WRAP_OLD_STAT(__lxstat##suffix, lstat##suffix, (int version, char const* path, type* to), AT_FDCWD, path, -1,      \
                  AT_SYMLINK_NOFOLLOW)                                                                                 \
    WRAP_OLD_STAT(__fxstatat##suffix, fstatat##suffix,                                                                 \
                  (int version, int folder, char const* path, type* to, int flags), folder, path, -1, flags)           \
    WRAP_OLD_STAT(__fxstat##suffix, fstat##suffix, (int version, int fd, type* to), fd, "", fd, AT_EMPTY_PATH)
WRAP_OLD_STATS(, struct stat)
WRAP_OLD_STATS(64, struct stat64)
