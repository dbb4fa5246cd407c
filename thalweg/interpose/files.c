#include "thalweg/interpose/files.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thalweg/interpose/system.h"
#include "thalweg/interpose/wrap.h"

enum { HANDLES = 8192, WAYS = 8, SHORT_PATH_BYTES = 1024 };

struct this_process this_process __attribute__((aligned(4096)));
static struct {
    _Atomic uint64_t handle;
    _Atomic uint32_t file;
    _Atomic uint32_t used; // how many handles had been remembered when this one was last needed
} handles[HANDLES];
static _Atomic uint32_t remembered;

// A path may be longer than what the stack of a signal handler has room for.
static bool write_long_path(char const* link, uint32_t file, uint32_t mode) {
    long const address =
        syscall(SYS_mmap, NULL, PATH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (address == -1) return false;
    char* const path = (char*)address;
    long const length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_BYTES - 1);
    bool const is_written = length > 0 && write_text(TEXT_FILE, file, mode, path);
    syscall(SYS_munmap, path, PATH_BYTES);
    return is_written;
}

// Asks the kernel which file this is, and gives it a number. 0: this is not possible, or not now.
static uint32_t define_file(int fd) {
    if (is_confined) return 0;
    int const saved = errno;
    char link[64], path[SHORT_PATH_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long const length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    uint32_t file = 0;
    if (length > 0 && is_traced()) {
        path[length] = 0;
        struct stat status = {0};
        syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH);
        file = next_file_number();
        bool const is_whole = length < (long)sizeof path - 1;
        bool const is_written =
            is_whole ? write_text(TEXT_FILE, file, status.st_mode, path) : write_long_path(link, file, status.st_mode);
        if (!is_written) file = 0; // no room: it is tried again
    }
    errno = saved;
    return file;
}

// Returns whether names there mean other files in another process, such as the tracer. The letters are in the code: a
// constant would be one more page.
static bool is_personal(char const* path) {
    char const* const p = path + 1;
    if (p[0] == 'p') return p[1] == 'r' && p[2] == 'o' && p[3] == 'c' && p[4] == '/';
    bool const is_device = p[0] == 'd' && p[1] == 'e' && p[2] == 'v' && p[3] == '/';
    return is_device && !(p[4] == 's' && p[5] == 'h' && p[6] == 'm' && p[7] == '/');
}

// Tells the tracer which file it is that it finds under a path.
static uint64_t identity_of(struct stat const* status) {
    return (status->st_mode & 0xffffu) | (status->st_ino & 0xffffffffu) << 16 | (status->st_dev & 0xffffu) << 48;
}

// Returns the path as an absolute one, in `room` if it is relative; NULL if it is too long, or the kernel must be
// asked.
static char const* made_absolute(char const* path, char* room, size_t size) {
    if (*path == '/') return path;
    long const got = system_call(SYS_getcwd, (long)room, (long)size, 0, 0); // including the zero at its end
    if (got <= 0 || *room != '/') return NULL;
    room[got - 1] = '/';
    for (size_t i = (size_t)got; i < size; ++i) {
        if (!(room[i] = *path++)) return room;
    }
    return NULL;
}

// Gives the file a number, and the path with which it was opened: the tracer finds out where symbolic links lead. To
// ask the kernel takes long in a forked child, which has nothing in /proc yet. Returns 0 if only the kernel knows the
// file.
static uint32_t name_opened(int fd, char const* path) {
    char room[SHORT_PATH_BYTES];
    struct stat status = {0};
    char const* const absolute = path && !is_confined ? made_absolute(path, room, sizeof room) : NULL;
    if (!absolute || is_personal(absolute)) return 0;
    char const none = 0;
    if (system_call(SYS_newfstatat, fd, (long)&none, (long)&status, AT_EMPTY_PATH) != 0) return 0;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return 0;
    uint32_t const file = next_file_number();
    return write_text(TEXT_OPENED, file, identity_of(&status), absolute) ? file : 0;
}

bool name_file(uint32_t file, char const* path) {
    char absolute[2 * PATH_BYTES];
    size_t length = 0;
    if (*path != '/') {
        long const got = syscall(SYS_getcwd, absolute, PATH_BYTES); // including the zero at its end
        if (got > 0) absolute[(length = (size_t)got) - 1] = '/';
    }
    snprintf(absolute + length, sizeof absolute - length, "%s", path);
    return write_text(TEXT_FILE, file, 0, absolute);
}

int64_t thrown_away(int folder, char const* path, int flags) {
    if (!(flags & O_TRUNC) || is_confined || !is_traced()) return -1;
    struct stat status;
    bool const is_there = system_call(SYS_newfstatat, folder, (long)path, (long)&status, 0) == 0;
    return is_there && S_ISREG(status.st_mode) ? status.st_size : -1;
}

// A child of vfork runs in the memory of its parent, but its descriptors are its own: what it does to them must not
// reach the table of the parent. Returns whether this process may change the table.
static bool may_change(void) {
    if (likely(owns_memory())) return true;
    this_thread.is_lent = 1; // until the parent goes on
    return false;
}

static void set_file(int fd, uint32_t file) {
    _Atomic int* const most = &this_process.highest_fd;
    int highest = atomic_load_explicit(most, memory_order_relaxed);
    while (highest < fd && !atomic_compare_exchange_weak(most, &highest, fd)) continue;
    atomic_store_explicit(&this_process.files[fd], file, memory_order_relaxed);
}

uint32_t find_file(int fd) {
    if (fd < 0 || fd >= DESCRIPTORS || !is_traced()) return 0;
    bool const is_mine = may_change();
    if (is_mine) {
        this_thread.is_lent = 0;
        uint32_t const known = atomic_load_explicit(&this_process.files[fd], memory_order_relaxed);
        if (known) return known;
    }
    uint32_t const file = define_file(fd);
    if (is_mine) set_file(fd, file);
    return file;
}

uint32_t file_of_opened(int fd, char const* path) {
    if (fd < 0 || fd >= DESCRIPTORS || !is_traced()) return 0;
    bool const is_mine = may_change();
    if (is_mine) this_thread.is_lent = 0;
    uint32_t file = name_opened(fd, path);
    if (!file) file = define_file(fd);
    if (is_mine) set_file(fd, file);
    return file;
}

uint32_t known_file(int fd) {
    if (unlikely(this_thread.is_lent) && !owns_memory()) return 0;
    return fd >= 0 && fd < DESCRIPTORS ? atomic_load_explicit(&this_process.files[fd], memory_order_relaxed) : 0;
}

void forget_file(int fd) {
    if (known_file(fd) && may_change()) atomic_store_explicit(&this_process.files[fd], 0, memory_order_relaxed);
}

void forget_files(unsigned first, unsigned last) {
    unsigned const highest = (unsigned)atomic_load(&this_process.highest_fd);
    for (unsigned fd = first; fd <= last && fd <= highest; ++fd) forget_file((int)fd);
}

void same_file(int old_fd, int new_fd) {
    if (new_fd < 0 || new_fd >= DESCRIPTORS || !may_change()) return;
    uint32_t const file = old_fd >= 0 && old_fd < DESCRIPTORS ? atomic_load(&this_process.files[old_fd]) : 0;
    set_file(new_fd, file);
}

// Returns the first of a handle's places in the table.
static unsigned slot_of(uint64_t handle) { return (unsigned)((handle * 0x9e3779b97f4a7c15u) >> 51) / WAYS * WAYS; }

uint32_t file_of_handle(uint64_t handle) {
    unsigned const first = slot_of(handle);
    for (unsigned i = first; i < first + WAYS; ++i) {
        if (atomic_load(&handles[i].handle) != handle) continue;
        atomic_store_explicit(&handles[i].used, atomic_load_explicit(&remembered, memory_order_relaxed),
                              memory_order_relaxed);
        return atomic_load(&handles[i].file);
    }
    return 0;
}

// If all its places are taken, the handle that was not needed for the longest time is given up.
void remember_handle(uint64_t handle, uint32_t file) {
    unsigned const first = slot_of(handle);
    uint32_t const now = atomic_fetch_add(&remembered, 1) + 1;
    unsigned slot = first;
    for (unsigned i = first; i < first + WAYS; ++i) {
        if (atomic_load(&handles[i].handle) == handle) {
            slot = i;
            break;
        }
        if (now - atomic_load(&handles[i].used) > now - atomic_load(&handles[slot].used)) slot = i;
    }
    atomic_store(&handles[slot].handle, 0);
    atomic_store(&handles[slot].file, file);
    atomic_store(&handles[slot].used, now);
    atomic_store(&handles[slot].handle, handle);
}
