#include "thalweg/interpose/ring.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// System calls are made directly here, because this library records the functions of libc.

__thread struct thread_state this_thread __attribute__((tls_model("initial-exec")));
static uint32_t volatile no_process;
uint32_t volatile* is_own_process = &no_process;
bool is_counter_used;
uint32_t recorded_levels = ~0u;

static struct control* control; // NULL: not traced
// There was no memory for a ring: no other ring is tried, and threads that have one go on.
static _Atomic bool has_given_up;
static char folder[256];
static pthread_key_t end_of_thread;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
static uint32_t process_number;
static struct ring* first_ring; // of this process: it describes the program
static uint32_t volatile* own_process_page;
static bool is_set_up;

static void* map(size_t bytes, int flags, int fd) {
    long const address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0L);
    return address == -1 ? NULL : (void*)address;
}

static size_t read_proc(char const* path, char* text, size_t capacity) {
    int const fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    long const got = syscall(SYS_read, fd, text, capacity - 1);
    syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

static uint32_t read_io(uint64_t values[4]) {
    static char const* const names[4] = {"rchar: ", "wchar: ", "syscr: ", "syscw: "};
    char text[512];
    size_t const got = read_proc("/proc/self/io", text, sizeof text);
    for (int i = 0; i < 4; ++i) {
        char const* const found = strstr(text, names[i]);
        values[i] = found ? strtoull(found + strlen(names[i]), NULL, 10) : 0;
    }
    return (uint32_t)got;
}

static int rank_of_launcher(void) {
    static char const* const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char const* const text = getenv(names[i]);
        if (text && *text) return atoi(text);
    }
    return -1;
}

static void end_ring(struct ring* ring) {
    size_t const bytes = HEADER_BYTES + (size_t)ring->capacity * sizeof(struct record);
    atomic_store_explicit(&ring->is_ended, 1, memory_order_release);
    if (ring != first_ring) syscall(SYS_munmap, ring, bytes);
}

static void end_thread(void* ring) {
    if (!*is_own_process) return; // it belongs to the parent
    this_thread.ring = NULL;
    end_ring(ring);
}

// Describes this process in the ring of its first thread.
static void describe_process(struct ring* ring) {
    ring->own_read_bytes = read_io(ring->io_begin);
    char command[sizeof ring->command];
    size_t const got = read_proc("/proc/self/cmdline", command, sizeof command);
    for (size_t i = 0; i < got; ++i) ring->command[i] = command[i] ? command[i] : ' ';
    ring->own_read_bytes += (uint32_t)got;
    syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", ring->executable, sizeof ring->executable - 1);
    syscall(SYS_sched_getaffinity, 0, sizeof ring->cores, ring->cores);
}

// Notes the environment variables that configure HDF5 and MPI-IO.
static void describe_environment(void) {
    static char const* const beginnings[] = {"HDF5_", "ROMIO_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_"};
    for (char** each = environ; each && *each; ++each) {
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; ++i) {
            if (strncmp(*each, beginnings[i], strlen(beginnings[i])) == 0) write_text(TEXT_ENVIRONMENT, 0, 0, *each);
        }
    }
}

// Called once per program, with or without threads, and again in a forked child.
static bool begin_process(bool is_forked) {
    if (!is_set_up) {
        is_set_up = true;
        char const* const named = getenv("THALWEG_TRACE_FOLDER");
        if (!named || strlen(named) > sizeof folder - 32) return false;
        strcpy(folder, named);
        char path[sizeof folder + 16];
        snprintf(path, sizeof path, "%s/control", folder);
        int const fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
        if (fd < 0) return false;
        struct control* const found = map(HEADER_BYTES, MAP_SHARED, fd);
        syscall(SYS_close, fd);
        if (!found || found->version != LAYOUT_VERSION) return false;
        own_process_page = map(HEADER_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (!own_process_page) return false;
        if (syscall(SYS_madvise, own_process_page, HEADER_BYTES, MADV_WIPEONFORK) != 0) return false;
        if (pthread_key_create(&end_of_thread, end_thread) != 0) return false;
        is_counter_used = getenv("THALWEG_TRACE_CLOCK") == NULL;
        recorded_levels = found->levels;
        control = found;
    }
    if (!control || has_given_up) return false;
    process_number = atomic_fetch_add(&control->next_process, 1);
    first_ring = NULL;
    *own_process_page = is_forked ? 2 : 1;
    is_own_process = own_process_page;
    return true;
}

enum { FIRST_RECORDS = 1024 };

static struct ring* create_ring(uint32_t records) {
    size_t const bytes = HEADER_BYTES + (size_t)records * sizeof(struct record);
    uint32_t const number = atomic_fetch_add(&control->next_ring, 1);
    char hidden[sizeof folder + 32], name[sizeof folder + 32];
    snprintf(hidden, sizeof hidden, "%s/new-%u", folder, number);
    snprintf(name, sizeof name, "%s/ring-%u", folder, number);
    int const fd = (int)syscall(SYS_openat, AT_FDCWD, hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    struct ring* ring = NULL;
    // The memory is allocated, so that a full /dev/shm is an error here and not a SIGBUS later, and prefaulted, so that
    // no call waits for it.
    if (syscall(SYS_fallocate, fd, 0, 0L, (long)bytes) == 0) ring = map(bytes, MAP_SHARED | MAP_POPULATE, fd);
    syscall(SYS_close, fd);
    if (ring) {
        syscall(SYS_madvise, ring, bytes, MADV_DONTFORK);
        ring->version = LAYOUT_VERSION;
        ring->process = process_number;
        ring->pid = first_ring ? first_ring->pid : (int32_t)syscall(SYS_getpid);
        ring->tid = (int32_t)syscall(SYS_gettid);
        ring->parent_pid = (int32_t)syscall(SYS_getppid);
        ring->rank = rank_of_launcher();
        ring->capacity = records;
        ring->is_forked = *is_own_process == 2;
        ring->created = clock_ticks();
        if (!first_ring) describe_process(ring);
        if (syscall(SYS_renameat2, AT_FDCWD, hidden, AT_FDCWD, name, 0) == 0) return ring;
        syscall(SYS_munmap, ring, bytes);
    }
    syscall(SYS_unlinkat, AT_FDCWD, hidden, 0);
    return NULL;
}

static uint32_t first_size(void) {
    return control->ring_records < FIRST_RECORDS ? control->ring_records : FIRST_RECORDS;
}

static void use_ring(struct ring* ring) {
    this_thread.ring = ring;
    this_thread.records = (struct record*)((char*)ring + HEADER_BYTES);
    this_thread.head = 0;
    this_thread.room_until = ring->capacity;
    this_thread.mask = ring->capacity - 1;
    pthread_setspecific(end_of_thread, ring);
}

bool grow_ring(void) {
    struct ring* const old = this_thread.ring;
    if (has_given_up || old->capacity >= control->ring_records) return false;
    int const saved = errno;
    struct ring* const ring = create_ring(control->ring_records);
    if (ring) {
        memcpy(ring->stack, old->stack, sizeof ring->stack); // begun calls end here
        use_ring(ring);
        end_ring(old);
    }
    errno = saved;
    return ring != NULL;
}

static bool open_ring_locked(void) {
    if (!*is_own_process) {
        bool const is_forked = control != NULL;
        // The ring belongs to the parent, and is not mapped here.
        if (is_forked) memset(&this_thread, 0, sizeof this_thread);
        if (!begin_process(is_forked)) return false;
    }
    if (this_thread.ring) return true;
    // A tracer that was killed reads no more, and records would stay in memory for good.
    bool const is_alone = syscall(SYS_kill, control->tracer_pid, 0) != 0 && errno == ESRCH;
    struct ring* const ring = is_alone ? NULL : create_ring(first_size());
    if (!ring) { // no thread tries again, which would slow down every call
        atomic_fetch_add(&control->failed_rings, 1);
        has_given_up = true;
        return false;
    }
    bool const is_first = !first_ring;
    if (is_first) first_ring = ring;
    this_thread = (struct thread_state){0};
    use_ring(ring);
    if (is_first && !ring->is_forked) describe_environment();
    return true;
}

bool open_ring(void) {
    static __thread bool is_opening __attribute__((tls_model("initial-exec")));
    if (is_opening || (is_set_up && (!control || has_given_up))) return false;
    int const saved = errno;
    // A child of a process with threads may inherit the lock in the taken state. It goes on untraced instead of waiting
    // for ever.
    is_opening = true;
    bool is_open = false;
    if (pthread_mutex_trylock(&beginning) == 0) {
        is_open = open_ring_locked();
        pthread_mutex_unlock(&beginning);
    } else if (*is_own_process || !control) {
        pthread_mutex_lock(&beginning);
        is_open = open_ring_locked();
        pthread_mutex_unlock(&beginning);
    }
    is_opening = false;
    errno = saved;
    return is_open;
}

uint32_t next_file_number(void) { return atomic_fetch_add(&control->next_file, 1); }

bool write_text(enum text_kind kind, uint32_t file, uint64_t handle, char const* text) {
    struct thread_state* const thread = &this_thread;
    if (!is_traced() || thread->is_recording) return false;
    size_t length = strnlen(text, PATH_BYTES);
    uint32_t const pieces = length ? (uint32_t)((length + TEXT_BYTES - 1) / TEXT_BYTES) : 1;
    if (!has_room(thread, pieces + 1)) return false; // and one for the call
    thread->is_recording = 1;
    for (uint32_t piece = 0; piece < pieces; ++piece) {
        struct record* const record = &thread->records[(thread->head + piece) & thread->mask];
        size_t const part = length < TEXT_BYTES ? length : TEXT_BYTES;
        memset(record, 0, sizeof *record);
        memcpy(record, text, part);
        record->file = file;
        record->operation = (uint16_t)kind;
        record->error = (uint16_t)part;
        record->handle = handle;
        record->kind = RECORD_TEXT;
        record->extra = piece + 1 == pieces;
        text += part;
        length -= part;
    }
    thread->head += pieces;
    atomic_store_explicit(&thread->ring->head, thread->head, memory_order_release);
    thread->is_recording = 0;
    return true;
}

void note_end_of_program(void) {
    struct ring* const ring = first_ring;
    // A child of vfork has the parent's memory, but is not the parent.
    if (!ring || !*is_own_process || ring->pid != (int32_t)syscall(SYS_getpid)) return;
    int const saved = errno;
    ring->own_read_bytes += read_io(ring->io_end);
    atomic_store_explicit(&ring->has_io_end, 1, memory_order_release);
    errno = saved;
}

void note_program(int32_t pid, char const* path) {
    if (!is_traced()) return;
    int const saved = errno;
    char absolute[2 * PATH_BYTES] = "";
    bool const is_relative = *path && *path != '/' && strchr(path, '/');
    if (is_relative && syscall(SYS_getcwd, absolute, PATH_BYTES) < 0) *absolute = 0;
    size_t const length = strlen(absolute);
    snprintf(absolute + length, sizeof absolute - length, "%s%.1000s", length ? "/" : "", path);
    write_text(TEXT_BECOMES, 0, (uint64_t)pid, absolute);
    errno = saved;
}

__attribute__((constructor)) static void begin_program(void) { is_traced(); }

__attribute__((destructor)) static void end_program(void) { note_end_of_program(); }

EXPORTED uint32_t thalweg_interpose_layout(void) {
    return (uint32_t)(sizeof(struct ring) << 16 | sizeof(struct record));
}

// Returns the clock of the records and that of the system at the same time. The tracer calls it.
EXPORTED void thalweg_interpose_clocks(int with_counter, uint64_t* ticks, uint64_t* nanoseconds) {
    is_counter_used = with_counter != 0;
    struct timespec now;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
        uint64_t const before = clock_ticks();
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t const after = clock_ticks();
        if (after - before >= best) continue;
        best = after - before;
        *ticks = before + best / 2;
        *nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
}

EXPORTED char const* thalweg_interpose_operation(unsigned operation) {
    static char const* const names[OP_COUNT] = {
#define X(name) [OP_##name] = #name,
        POSIX_OPERATIONS(X) STDIO_OPERATIONS(X)
#undef X
#define X(name, ...) [OP_MPI_##name] = "MPI_" #name, // NOLINT(bugprone-suspicious-missing-comma): one text
            MPI_OPERATIONS(X)
#undef X
#define X(name, ...) [OP_##name] = #name,
                HDF5_OPERATIONS(X)
#undef X
#define X(name) [OP_##name] = #name,
                    WORK_OPERATIONS(X)
#undef X
    };
    return operation < OP_COUNT ? names[operation] ? names[operation] : "" : NULL;
}

EXPORTED unsigned thalweg_interpose_level(unsigned operation) { return level_of(operation); }
