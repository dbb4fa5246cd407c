// Wraps POSIX calls that move data: at an offset, at the descriptor's own, in several pieces, asynchronously, between
// files.
#include <aio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "thalweg/interpose/wrap.h"

typedef off64_t off64;

static int64_t total(struct iovec const* pieces, int count) {
    int64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += (int64_t)pieces[i].iov_len;
    return bytes;
}

#define WRAP_MOVE(name, number, parameters, arguments, offset, at)                                                     \
    WRAP_SYSTEM(ssize_t, name, parameters, arguments, offset, size, true, (number, fd, (long)data, (long)size, at))
WRAP_MOVE(read, SYS_read, (int fd, void* data, size_t size), (fd, data, size), -1, 0)
WRAP_MOVE(write, SYS_write, (int fd, void const* data, size_t size), (fd, data, size), -1, 0)
WRAP_MOVE(pread, SYS_pread64, (int fd, void* data, size_t size, off_t at), (fd, data, size, at), at, at)
WRAP_MOVE(pread64, SYS_pread64, (int fd, void* data, size_t size, off64 at), (fd, data, size, at), at, at)
WRAP_MOVE(pwrite, SYS_pwrite64, (int fd, void const* data, size_t size, off_t at), (fd, data, size, at), at, at)
WRAP_MOVE(pwrite64, SYS_pwrite64, (int fd, void const* data, size_t size, off64 at), (fd, data, size, at), at, at)

#define PIECES int fd, struct iovec const *pieces, int count
WRAP_FD(ssize_t, readv, (PIECES), (fd, pieces, count), -1, total(pieces, count))
WRAP_FD(ssize_t, writev, (PIECES), (fd, pieces, count), -1, total(pieces, count))
WRAP_FD(ssize_t, preadv, (PIECES, off_t at), (fd, pieces, count, at), at, total(pieces, count))
WRAP_FD(ssize_t, preadv64, (PIECES, off64 at), (fd, pieces, count, at), at, total(pieces, count))
WRAP_FD(ssize_t, pwritev, (PIECES, off_t at), (fd, pieces, count, at), at, total(pieces, count))
WRAP_FD(ssize_t, pwritev64, (PIECES, off64 at), (fd, pieces, count, at), at, total(pieces, count))
WRAP_FD(ssize_t, preadv2, (PIECES, off_t at, int flags), (fd, pieces, count, at, flags), at, total(pieces, count))
WRAP_FD(ssize_t, preadv64v2, (PIECES, off64 at, int flags), (fd, pieces, count, at, flags), at, total(pieces, count))
WRAP_FD(ssize_t, pwritev2, (PIECES, off_t at, int flags), (fd, pieces, count, at, flags), at, total(pieces, count))
WRAP_FD(ssize_t, pwritev64v2, (PIECES, off64 at, int flags), (fd, pieces, count, at, flags), at, total(pieces, count))

// Fortified programs call these functions. They are recorded under the name in the source code.
extern void __chk_fail(void) __attribute__((noreturn));
EXPORTED ssize_t __read_chk(int fd, void* data, size_t size, size_t capacity) {
    if (size > capacity) __chk_fail();
    return read(fd, data, size);
}
EXPORTED ssize_t __pread_chk(int fd, void* data, size_t size, off_t at, size_t capacity) {
    if (size > capacity) __chk_fail();
    return pread(fd, data, size, at);
}
EXPORTED ssize_t __pread64_chk(int fd, void* data, size_t size, off64 at, size_t capacity) {
    if (size > capacity) __chk_fail();
    return pread64(fd, data, size, at);
}

#define WRAP_BLOCK(type, name, parameters, arguments)                                                                  \
    WRAP(type, name, parameters, arguments, block->aio_fildes, file_of(block->aio_fildes), block->aio_offset,          \
         block->aio_nbytes, result < 0)
WRAP_BLOCK(int, aio_read, (struct aiocb * block), (block))
WRAP_BLOCK(int, aio_read64, (struct aiocb64 * block), (block))
WRAP_BLOCK(int, aio_write, (struct aiocb * block), (block))
WRAP_BLOCK(int, aio_write64, (struct aiocb64 * block), (block))
WRAP_BLOCK(int, aio_fsync, (int how, struct aiocb* block), (how, block))
WRAP_BLOCK(int, aio_fsync64, (int how, struct aiocb64* block), (how, block))
WRAP_BLOCK(ssize_t, aio_return, (struct aiocb * block), (block))
WRAP_BLOCK(ssize_t, aio_return64, (struct aiocb64 * block), (block))
WRAP(int, aio_suspend, (struct aiocb const* const blocks[], int count, struct timespec const* until),
     (blocks, count, until), 0, 0, -1, -1, result != 0)
WRAP(int, aio_suspend64, (struct aiocb64 const* const blocks[], int count, struct timespec const* until),
     (blocks, count, until), 0, 0, -1, -1, result != 0)

static int64_t total_of_blocks(struct aiocb* const blocks[], int count) {
    int64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += blocks[i] ? (int64_t)blocks[i]->aio_nbytes : 0;
    return bytes;
}
#define FIRST_OF(blocks) ((count) > 0 && (blocks)[0] ? file_of((blocks)[0]->aio_fildes) : 0)
WRAP(int, lio_listio, (int how, struct aiocb* const blocks[], int count, struct sigevent* event),
     (how, blocks, count, event), 0, FIRST_OF(blocks), -1, total_of_blocks(blocks, count), result != 0)
WRAP(int, lio_listio64, (int how, struct aiocb64* const blocks[], int count, struct sigevent* event),
     (how, blocks, count, event), 0, FIRST_OF(blocks), -1, total_of_blocks((struct aiocb* const*)blocks, count),
     result != 0)

// These belong to liburing, which may be in any scope. Completions are not seen.
#define WRAP_RING(name, parameters, arguments)                                                                         \
    EXPORTED int name parameters {                                                                                     \
        int(*const real) parameters =                                                                                  \
            (int(*) parameters)real_of_caller(#name, __builtin_return_address(0), (void const*)name);                  \
        if (!real) return -ENOSYS;                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, (uint64_t)ring, 0, -1, -1);                                                       \
        int const result = real arguments;                                                                             \
        finish_call(&call, result, result < 0 ? -result : 0);                                                          \
        return result;                                                                                                 \
    }
EXPORTED int io_uring_submit(void* ring);
EXPORTED int io_uring_submit_and_wait(void* ring, unsigned count);
WRAP_RING(io_uring_submit, (void* ring), (ring))
WRAP_RING(io_uring_submit_and_wait, (void* ring, unsigned count), (ring, count))

// These belong to libaio. Reads and writes are submitted in batches; completions are not seen.
struct batch_item { // struct iocb of <linux/aio_abi.h>
    uint64_t data;
    uint32_t key, flags;
    uint16_t operation;
    int16_t priority;
    uint32_t fd;
    uint64_t buffer, size;
    int64_t at;
};
enum { ITEM_READ = 0, ITEM_WRITE = 1, ITEM_READ_PIECES = 7, ITEM_WRITE_PIECES = 8 };

static int64_t bytes_of_item(struct batch_item const* item) {
    if (item->operation == ITEM_READ || item->operation == ITEM_WRITE) return (int64_t)item->size;
    if (item->operation != ITEM_READ_PIECES && item->operation != ITEM_WRITE_PIECES) return 0;
    return total((struct iovec const*)item->buffer, (int)item->size);
}

EXPORTED int io_submit(void* context, long count, struct batch_item* items[]) {
    int (*const real)(void*, long, struct batch_item**) =
        real_of_caller("io_submit", __builtin_return_address(0), (void const*)io_submit);
    if (!real) return -ENOSYS;
    struct call call;
    begin_call(&call, OP_io_submit, (uint64_t)context, count > 0 ? file_of((int)items[0]->fd) : 0, -1, -1);
    int const result = real(context, count, items); // how many it accepted, or a negative errno
    call.size = 0;
    for (int i = 0; call.slot >= 0 && i < result; ++i) call.size += bytes_of_item(items[i]);
    finish_call(&call, result, result < 0 ? -result : 0);
    return result;
}
EXPORTED int io_getevents(void* context, long least, long most, void* events, struct timespec* until) {
    int (*const real)(void*, long, long, void*, struct timespec*) =
        real_of_caller("io_getevents", __builtin_return_address(0), (void const*)io_getevents);
    if (!real) return -ENOSYS;
    struct call call;
    begin_call(&call, OP_io_getevents, (uint64_t)context, 0, -1, -1);
    int const result = real(context, least, most, events, until);
    finish_call(&call, result, result < 0 ? -result : 0);
    return result;
}

// The second descriptor is the one that is read, and the handle of the record.
#define TO_FROM int fd, int from
WRAP(ssize_t, sendfile, (TO_FROM, off_t* at, size_t size), (fd, from, at, size), from, file_of(fd), -1, size,
     result < 0)
WRAP(ssize_t, sendfile64, (TO_FROM, off64* at, size_t size), (fd, from, at, size), from, file_of(fd), -1, size,
     result < 0)
WRAP(ssize_t, copy_file_range, (int from, off64* read_at, int fd, off64* at, size_t size, unsigned flags),
     (from, read_at, fd, at, size, flags), from, file_of(fd), -1, size, result < 0)
WRAP(ssize_t, splice, (int from, off64* read_at, int fd, off64* at, size_t size, unsigned flags),
     (from, read_at, fd, at, size, flags), from, file_of(fd), -1, size, result < 0)

WRAP(ssize_t, tee, (int from, int fd, size_t size, unsigned flags), (from, fd, size, flags), from, file_of(fd), -1,
     size, result < 0)
WRAP_FD(ssize_t, vmsplice, (int fd, struct iovec const* pieces, size_t count, unsigned flags),
        (fd, pieces, count, flags), -1, total(pieces, (int)count))

// The wrapper makes the system call itself: allocators use mmap before any function can be looked up. Memory without a
// file is no I/O.
#define WRAP_MAP(name)                                                                                                 \
    EXPORTED void* name(void* address, size_t size, int protection, int flags, int fd, off_t at) {                     \
        struct call call = {.slot = -1};                                                                               \
        bool const is_file = !(flags & MAP_ANONYMOUS) && fd >= 0;                                                      \
        if (is_file) begin_call(&call, OP_##name, (uint64_t)fd, file_of(fd), at, (int64_t)size);                       \
        call.extra = (uint16_t)flags;                                                                                  \
        long const result = syscall(SYS_mmap, address, size, protection, flags, fd, at);                               \
        if (is_file) finish_call(&call, result, result == -1 ? errno : 0);                                             \
        return (void*)result;                                                                                          \
    }
WRAP_MAP(mmap)
WRAP_MAP(mmap64)
WRAP(int, msync, (void* address, size_t size, int flags), (address, size, flags), address, 0, -1, size, result != 0)
