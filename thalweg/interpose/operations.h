// Every recorded call, by level. The number of an operation is its place here, counted from 1. The file has a table of
// them, so the number may change.
#pragma once

#include "thalweg/interpose/hdf5_calls.h"
#include "thalweg/interpose/mpi_calls.h"

// clang-format off
#define POSIX_OPERATIONS(X) \
    X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64) X(mkstemp) X(mkstemp64) X(mkostemp) X(close) \
    X(read) X(write) X(pread) X(pread64) X(pwrite) X(pwrite64) X(readv) X(writev) X(preadv) X(preadv64) \
    X(pwritev) X(pwritev64) X(preadv2) X(preadv64v2) X(pwritev2) X(pwritev64v2) \
    X(aio_read) X(aio_read64) X(aio_write) X(aio_write64) X(aio_fsync) X(aio_fsync64) X(aio_suspend) X(aio_suspend64) \
    X(aio_return) X(aio_return64) X(lio_listio) X(lio_listio64) X(io_uring_submit) X(io_uring_submit_and_wait) \
    X(io_submit) X(io_getevents) \
    X(lseek) X(lseek64) X(fsync) X(fdatasync) X(sync) X(syncfs) X(sync_file_range) X(msync) \
    X(truncate) X(truncate64) X(ftruncate) X(ftruncate64) X(fallocate) X(fallocate64) X(posix_fallocate) \
    X(posix_fallocate64) X(posix_fadvise) X(posix_fadvise64) X(mmap) X(mmap64) X(dup) X(dup2) X(dup3) \
    X(fcntl) X(fcntl64) X(flock) X(lockf) X(lockf64) X(sendfile) X(sendfile64) X(copy_file_range) X(splice) \
    X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(remove) X(link) X(symlink) X(mkdir) X(rmdir) \
    X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(fstatat) X(fstatat64) X(statx) X(access) X(faccessat) \
    X(opendir) X(vmsplice) X(tee) \
    X(mkdirat) X(mknod) X(mkfifo) X(linkat) X(symlinkat) X(readlink) X(readlinkat) X(euidaccess) X(eaccess) \
    X(chmod) X(lchmod) X(fchmod) X(fchmodat) X(chown) X(lchown) X(fchown) X(fchownat) X(utime) X(utimes) X(lutimes) \
    X(futimes) X(futimesat) X(futimens) X(utimensat) X(statfs) X(statfs64) X(fstatfs) X(fstatfs64) X(statvfs) \
    X(statvfs64) X(fstatvfs) X(fstatvfs64) X(getxattr) X(lgetxattr) X(fgetxattr) X(setxattr) X(fsetxattr) X(listxattr) \
    X(llistxattr) X(flistxattr)

#define STDIO_OPERATIONS(X) \
    X(fopen) X(fopen64) X(freopen) X(freopen64) X(fdopen) X(fclose) X(fread) X(fwrite) X(fread_unlocked) \
    X(fwrite_unlocked) X(fgets) X(fputs) X(fgetc) X(getc) X(fputc) X(putc) X(puts) X(fprintf) X(printf) \
    X(vfprintf) X(vprintf) X(getline) X(getdelim) X(fflush) X(fgets_unlocked) X(fputs_unlocked) X(fputc_unlocked) \
    X(putchar) X(fseek) X(fseeko) X(fseeko64) X(rewind)

// The work that Thalweg reports of itself (thalweg/trace/activity.h). These are no calls, but are recorded like calls.
#define WORK_OPERATIONS(X) \
    X(encode_page) X(decode_page) X(claim_extent) X(wait_for_space) X(wait_for_memory) X(wait_for_writes) \
    X(write_in_flight) X(region) X(sync_data) X(sync_journal) X(write_journal) X(write_interim_footer) X(complete_file)
// clang-format on

enum level { LEVEL_POSIX = 0, LEVEL_STDIO = 1, LEVEL_MPI = 2, LEVEL_HDF5 = 3, LEVEL_WORK = 4 };

enum operation {
    OP_NONE = 0,
#define X(name) OP_##name,
    POSIX_OPERATIONS(X)
#undef X
        OP_LAST_POSIX,
#define X(name) OP_##name,
    STDIO_OPERATIONS(X)
#undef X
        OP_LAST_STDIO,
#define X(name, ...) OP_MPI_##name,
    MPI_OPERATIONS(X)
#undef X
        OP_LAST_MPI,
#define X(name, ...) OP_##name,
    HDF5_OPERATIONS(X)
#undef X
        OP_LAST_HDF5,
#define X(name) OP_##name,
    WORK_OPERATIONS(X)
#undef X
        OP_COUNT
};

static inline enum level level_of(unsigned operation) {
    if (operation < OP_LAST_POSIX) return LEVEL_POSIX;
    if (operation < OP_LAST_STDIO) return LEVEL_STDIO;
    if (operation < OP_LAST_MPI) return LEVEL_MPI;
    return operation < OP_LAST_HDF5 ? LEVEL_HDF5 : LEVEL_WORK;
}
