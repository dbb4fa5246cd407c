#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "thalweg/interpose/bytes.h"
#include "thalweg/interpose/files.h"
#include "thalweg/interpose/process.h"
#include "thalweg/interpose/real.h"

// System calls are made directly here, because this library records the functions of libc.

__thread struct thread_state this_thread __attribute__((tls_model("initial-exec")));
static uint32_t volatile no_process;
uint32_t volatile* is_own_process = &no_process;
bool is_counter_used;
uint64_t last_ticks;
uint32_t recorded_levels = ~0u;

bool volatile is_confined;

static struct control* control; // NULL: not traced
static char* slots;             // rings that are there already; NULL: none
// There was no memory for a ring: no other ring is tried, and threads that have one go on.
static _Atomic bool has_given_up;
static char folder[256];
static pthread_key_t end_of_thread;
static int rank;
static uint32_t volatile* own_process_page;
static bool is_set_up;

enum { PAGE_BYTES = 4096 };

static void* map(size_t bytes, int flags, int fd) {
    long const address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0L);
    return address == -1 ? NULL : (void*)address;
}

static size_t bytes_of(uint32_t records) { return HEADER_BYTES + (size_t)records * sizeof(struct record); }

static bool is_slot(struct ring const* ring) {
    return slots && (char const*)ring >= slots && (char const*)ring < slots + (size_t)SLOTS * SLOT_BYTES;
}

static void end_ring(struct ring* ring) {
    size_t const bytes = bytes_of(ring->capacity);
    bool const is_mapped = !is_slot(ring);
    atomic_store_explicit(&ring->is_ended, 1, memory_order_release);
    if (is_mapped && !is_confined) syscall(SYS_munmap, ring, bytes);
}

static void end_thread(void* value) {
    (void)value; // perhaps a ring of the parent
    struct ring* const ring = this_thread.ring;
    // The first one describes the process until that ends.
    if (!ring || !*is_own_process || ring == this_process.first_ring) return;
    this_thread.ring = NULL;
    end_ring(ring);
}

// The thread that has forked is the only one of the child, and its ring belongs to the parent.
static void begin_child(void) { this_thread = (struct thread_state){.is_child = 1}; }

static void* map_file(char const* name, size_t bytes) {
    char path[sizeof folder + 16];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int const fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    void* const found = map(bytes, MAP_SHARED, fd);
    syscall(SYS_close, fd);
    return found;
}

static uint64_t pid_namespace(void) {
    struct stat status;
    bool const is_known = system_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&status, 0) == 0;
    return is_known ? status.st_ino : control->pid_namespace;
}

static bool set_up(void) {
    char const* const named = getenv("THALWEG_TRACE_FOLDER");
    if (!named || strlen(named) > sizeof folder - 32) return false;
    strcpy(folder, named);
    char* const shared = map_file("control", CONTROL_BYTES + (size_t)SLOTS * SLOT_BYTES);
    struct control* const found = shared ? (struct control*)shared : map_file("control", CONTROL_BYTES);
    if (!found || found->version != LAYOUT_VERSION) return false;
    own_process_page = map(PAGE_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!own_process_page) return false;
    if (syscall(SYS_madvise, own_process_page, PAGE_BYTES, MADV_WIPEONFORK) != 0) return false;
    if (pthread_key_create(&end_of_thread, end_thread) != 0) return false;
    pthread_atfork(NULL, NULL, begin_child);
    is_counter_used = getenv("THALWEG_TRACE_CLOCK") == NULL;
    recorded_levels = found->levels;
    slots = shared ? shared + CONTROL_BYTES : NULL;
    rank = rank_of_launcher();
    find_usual();
    control = found;
    return true;
}

// Called once per program, with or without threads, and again in a forked child.
static bool begin_process(bool is_forked, int32_t self) {
    if (!is_set_up) {
        int const saved = errno;
        is_set_up = true;
        bool const is_ready = set_up();
        errno = saved;
        if (!is_ready) return false;
    }
    if (!control || has_given_up) return false;
    struct this_process* const process = &this_process;
    process->number = atomic_fetch_add(&control->next_process, 1);
    process->first_ring = NULL;
    process->owner = self;
    process->parent = (int32_t)system_call(SYS_getppid, 0, 0, 0, 0);
    // A child whose parent has no pid here is the first of another namespace.
    process->is_elsewhere =
        is_forked ? process->is_elsewhere || process->parent == 0 : pid_namespace() != control->pid_namespace;
    *own_process_page = is_forked ? 2 : 1;
    if (!is_forked) is_own_process = own_process_page;
    return true;
}

static int32_t pid_now(void) { return (int32_t)system_call(SYS_getpid, 0, 0, 0, 0); }

bool owns_memory(void) { return is_confined || this_process.owner == 0 || pid_now() == this_process.owner; }

static void describe_ring(struct ring* ring, uint32_t records) {
    ring->version = LAYOUT_VERSION;
    ring->process = this_process.number;
    ring->pid = this_process.owner;
    ring->tid = (int32_t)system_call(SYS_gettid, 0, 0, 0, 0);
    ring->parent_pid = this_process.parent;
    ring->rank = rank;
    ring->capacity = records;
    ring->is_forked = *is_own_process == 2;
    ring->is_elsewhere = this_process.is_elsewhere;
    ring->created = clock_ticks();
    if (!this_process.first_ring) describe_process(ring);
}

// Takes one of the rings that the tracer has made: this needs no memory, no file and hardly any time.
static struct ring* take_slot(void) {
    if (!slots || control->ring_records < SLOT_RECORDS) return NULL;
    uint32_t const first = atomic_fetch_add(&control->next_slot, 1);
    for (uint32_t i = first; i < first + SLOTS; ++i) {
        _Atomic uint32_t* const slot = &control->slots[i % SLOTS];
        uint32_t state = atomic_load_explicit(slot, memory_order_relaxed);
        if (state != SLOT_FREE || !atomic_compare_exchange_strong(slot, &state, SLOT_TAKEN)) continue;
        struct ring* const ring = (struct ring*)(slots + (size_t)(i % SLOTS) * SLOT_BYTES);
        describe_ring(ring, SLOT_RECORDS);
        atomic_store_explicit(slot, SLOT_READY, memory_order_release);
        return ring;
    }
    return NULL;
}

// Returns whether a file may have so many bytes. The system would end a program that makes a larger one.
static bool is_within_limit(size_t bytes) {
    struct rlimit limit;
    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || bytes <= limit.rlim_cur;
}

// A tracer that was killed reads no more, and records would stay in memory for good. Elsewhere its pid says nothing.
static bool is_tracer_gone(void) {
    return !this_process.is_elsewhere && system_call(SYS_kill, control->tracer_pid, 0, 0, 0) == -ESRCH;
}

// Returns NULL and sets errno if there is no memory, or no permission.
static struct ring* create_ring(uint32_t records) {
    size_t const bytes = bytes_of(records);
    if (is_confined || !is_within_limit(bytes)) {
        errno = is_confined ? EPERM : EFBIG;
        return NULL;
    }
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
    int error = errno;
    syscall(SYS_close, fd);
    if (ring) {
        syscall(SYS_madvise, ring, bytes, MADV_DONTFORK);
        describe_ring(ring, records);
        if (syscall(SYS_renameat2, AT_FDCWD, hidden, AT_FDCWD, name, 0) == 0) {
            atomic_fetch_add(&control->made_bytes, bytes);
            return ring;
        }
        error = errno;
        syscall(SYS_munmap, ring, bytes);
    }
    syscall(SYS_unlinkat, AT_FDCWD, hidden, 0);
    errno = error;
    return NULL;
}

enum { FIRST_RECORDS = 1024 };

static uint32_t first_size(void) {
    return control->ring_records < FIRST_RECORDS ? control->ring_records : FIRST_RECORDS;
}

static void use_ring(struct ring* ring) {
    this_thread.ring = ring;
    this_thread.records = (struct record*)((char*)ring + HEADER_BYTES);
    this_thread.head = 0;
    this_thread.room_until = ring->capacity;
    this_thread.mask = ring->capacity - 1;
    if (ring != this_process.first_ring) pthread_setspecific(end_of_thread, ring);
}

enum { GROWTH = 8, MODEST_BYTES = 32 << 20, LEAST_GROWN = 2048, PATIENCE = 1024 };

// Returns how many records the ring has that follows one with `records`; 0: there may be none.
static uint32_t next_size(uint32_t records) {
    uint32_t const most = control->ring_records;
    uint64_t const live = atomic_load(&control->made_bytes) - control->released_bytes;
    if (records >= most) return live + bytes_of(most) <= control->most_bytes ? most : 0;
    // If many threads have many calls, each takes as much memory as the tracer is behind, and no more.
    uint32_t const wanted = live < MODEST_BYTES ? records * GROWTH : records < LEAST_GROWN ? LEAST_GROWN : records;
    return wanted < most ? wanted : most;
}

bool grow_ring(void) {
    struct ring* const old = this_thread.ring;
    uint32_t const records = has_given_up ? 0 : next_size(old->capacity);
    // A thread that got no ring does not ask again for each call.
    if (!records || this_thread.refused++ % PATIENCE) return false;
    int const saved = errno;
    struct ring* const ring = is_confined || is_tracer_gone() ? NULL : create_ring(records);
    if (ring) {
        this_thread.refused = 0;
        memcpy(ring->stack, old->stack, sizeof ring->stack); // begun calls end here
        if (old == this_process.first_ring) {
            copy_description(ring, old);
            this_process.first_ring = ring;
        }
        use_ring(ring);
        end_ring(old);
    }
    errno = saved;
    return ring != NULL;
}

static void note_failure(enum why_no_ring why, int error) {
    uint32_t const number = atomic_fetch_add(&control->failed_rings, 1);
    if (number >= FAILURES) return;
    struct failure* const failure = &control->failures[number];
    failure->pid = this_process.owner;
    failure->error = (uint16_t)error;
    char const* const name = strrchr(program_invocation_name, '/');
    snprintf(failure->program, sizeof failure->program, "%s", name ? name + 1 : program_invocation_name);
    __atomic_store_n(&failure->why, (uint16_t)why, __ATOMIC_RELEASE);
}

static enum why_no_ring why_of(int error) {
    return error == EFBIG                                        ? FILE_LIMIT
           : error == EACCES || error == EPERM || error == EROFS ? NO_PERMISSION
                                                                 : NO_MEMORY;
}

// Makes a ring for a thread that found no slot. If that fails, no thread tries again, which would slow down every call.
static struct ring* make_first(void) {
    int const saved = errno;
    bool const is_untraced = is_tracer_gone();
    struct ring* const ring = is_untraced ? NULL : create_ring(first_size());
    if (!ring) {
        note_failure(is_untraced ? NO_TRACER : why_of(errno), is_untraced ? ESRCH : errno);
        has_given_up = true;
    }
    errno = saved;
    return ring;
}

// Returns whether the process has not begun. A child that knows that it was forked writes to its page of zeros without
// a look at it, which would be one more page fault.
static bool is_new(int32_t self) { return (this_thread.is_child && this_process.owner != self) || !*is_own_process; }

static bool open_ring_locked(int32_t self) {
    if (is_new(self)) {
        bool const is_forked = control != NULL;
        // The ring belongs to the parent.
        if (is_forked) this_thread = (struct thread_state){.ring = NULL};
        if (!begin_process(is_forked, self)) return false;
    }
    if (this_thread.ring) return true;
    struct ring* ring = take_slot();
    if (!ring) ring = make_first();
    if (!ring) return false;
    bool const is_first = !this_process.first_ring;
    if (is_first) this_process.first_ring = ring;
    this_thread = (struct thread_state){.ring = NULL};
    use_ring(ring);
    if (is_first && !ring->is_forked) describe_environment();
    return true;
}

// A child of a process with threads may inherit the lock from a thread of its parent, which does not exist in it. A
// child of vfork shares the memory, and that thread goes on.
static void lock_opening(int32_t self) {
    _Atomic int32_t* const opener = &this_process.opener;
    for (;;) {
        int32_t found = 0;
        if (atomic_compare_exchange_strong(opener, &found, self)) return;
        bool const is_inherited = found != self && control && !*is_own_process;
        if (is_inherited && atomic_compare_exchange_strong(opener, &found, self)) return;
        static struct timespec const pause = {0, 50000};
        system_call(SYS_nanosleep, (long)&pause, 0, 0, 0); // a thread that only yields may keep its holder from running
    }
}

bool open_ring(void) {
    static __thread bool is_opening __attribute__((tls_model("initial-exec")));
    if (is_opening || (is_set_up && (!control || has_given_up || is_confined))) return false;
    is_opening = true;
    int32_t const self = pid_now();
    lock_opening(self);
    bool const is_open = open_ring_locked(self);
    atomic_store(&this_process.opener, 0);
    is_opening = false;
    return is_open;
}

uint32_t next_file_number(void) { return atomic_fetch_add(&control->next_file, 1); }

bool write_text(enum text_kind kind, uint32_t file, uint64_t handle, char const* text) {
    struct thread_state* const thread = &this_thread;
    // Headers promise that paths are no null pointers, so wrappers cannot ask; programs pass them all the same.
    if (!text || !is_traced() || thread->is_recording) return false;
    size_t length = 0;
    while (length < PATH_BYTES && text[length]) ++length;
    uint32_t const pieces = length ? (uint32_t)((length + TEXT_BYTES - 1) / TEXT_BYTES) : 1;
    if (!has_room(thread, pieces + 1)) return false; // and one for the call
    thread->is_recording = 1;
    for (uint32_t piece = 0; piece < pieces; ++piece) {
        struct record* const record = &thread->records[(thread->head + piece) & thread->mask];
        size_t const part = length < TEXT_BYTES ? length : TEXT_BYTES;
        *record = (struct record){
            .file = file,
            .operation = (uint16_t)kind,
            .error = (uint16_t)part,
            .handle = handle,
            .kind = RECORD_TEXT,
            .extra = piece + 1 == pieces,
        };
        copy_bytes(record, text, part);
        text += part;
        length -= part;
    }
    thread->head += pieces;
    atomic_store_explicit(&thread->ring->head, thread->head, memory_order_release);
    thread->is_recording = 0;
    return true;
}

size_t read_for_tracer(char const* path, char* text, size_t capacity) {
    struct ring* const ring = this_process.first_ring;
    if (is_confined || !ring || !is_traced()) return 0;
    size_t const got = read_file(path, text, capacity);
    count_own_read((uint32_t)got);
    return got;
}

void count_own_read(uint32_t bytes) {
    // The kernel counts what a child of vfork reads as read by the child.
    if (!is_traced() || !owns_memory()) return;
    struct ring* const ring = this_process.first_ring;
    ring->own_read_bytes += bytes;
    ++ring->own_reads;
}

void note_end_of_program(void) {
    struct ring* const ring = this_process.first_ring;
    // A child of vfork has the parent's memory, but is not the parent.
    if (!ring || is_confined || !*is_own_process || !owns_memory()) return;
    int const saved = errno;
    read_io(ring, ring->io_end);
    atomic_store_explicit(&ring->has_io_end, 1, memory_order_release);
    errno = saved;
}

__attribute__((constructor)) static void begin_program(void) { is_traced(); }
