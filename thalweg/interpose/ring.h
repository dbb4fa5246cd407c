// Records one call: `begin_call` before the real function, `finish_call` after it. Both only write to memory that is
// shared with the tracer; everything that costs more is done once per thread, in ring.c.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "thalweg/interpose/operations.h"
#include "thalweg/interpose/record.h"

#define EXPORTED __attribute__((visibility("default")))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

struct thread_state {
    struct ring* ring; // NULL: nothing is recorded, or not yet
    struct record* records;
    uint64_t head;
    uint64_t room_until; // at this head the tail must be read again
    uint32_t mask;
    uint32_t depth;
    uint32_t is_recording; // a signal handler that interrupts must not write to the same record
    uint32_t mpi_depth;
    uint32_t hdf5_depth;
    uint32_t hdf5_file; // of the call of HDF5 around this one
    uint32_t is_lent;   // to a child of vfork, which has descriptors of its own
    uint32_t refused;   // how often this thread got no further ring
    uint32_t is_child;  // it was forked, and its process has not begun yet
};

struct call {
    uint64_t start;
    int64_t offset;
    int64_t size;
    uint64_t handle;
    uint32_t file;
    int32_t slot; // in the stack of begun calls; -1: not recorded
    uint16_t operation;
    uint16_t extra;
};

extern __thread struct thread_state this_thread __attribute__((tls_model("initial-exec")));
// A page that the kernel fills with zeros in a forked child: so the child notices that the state belongs to its parent.
extern uint32_t volatile* is_own_process;
extern bool is_counter_used;
// The system forbids the program to look at a clock, too: times stand still. 0: it does not.
extern uint64_t last_ticks;
extern uint32_t recorded_levels;

// The program has forbidden itself system calls (seccomp): this library makes none of its own any more.
extern bool volatile is_confined;

// Makes a ring for this thread. Returns false if the program is not traced, or not now.
bool open_ring(void);
bool write_text(enum text_kind kind, uint32_t file, uint64_t handle, char const* text);
uint32_t next_file_number(void);
// Notes that this library has read so many bytes of a file in this process, which are no I/O of the program.
void count_own_read(uint32_t bytes);
// Reads /proc/self/io for the tracer, because the next program of this process counts on from there.
void note_end_of_program(void);
// Notes that this process, or a child, becomes another program, perhaps one that cannot be traced; "": it did not.
// `why_not` says why it is started without this library; NULL: it is started with it.
void note_program(int32_t pid, char const* path, char const* why_not);
// Returns whether this is the process to which the memory belongs, and no child that only borrows it (vfork).
bool owns_memory(void);

static inline uint64_t clock_ticks(void) {
#if defined(__x86_64__)
    if (likely(is_counter_used)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
    if (unlikely(last_ticks)) return last_ticks;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline bool is_traced(void) {
    if (likely(this_thread.ring && *is_own_process)) return true;
    return open_ring();
}

// `frame` is the place of the call on the stack, by which calls that were left and never finished are found.
// `never_left` switches this check off.
static inline void begin_call_of(uint64_t frame, bool never_left, struct call* call, uint16_t operation,
                                 uint64_t handle, uint32_t file, int64_t offset, int64_t size) {
    call->slot = -1;
    call->file = 0;
    if (unlikely(!is_traced()) || unlikely(!(recorded_levels >> level_of(operation) & 1))) return;
    struct thread_state* const thread = &this_thread;
    struct ring* const ring = thread->ring;
    uint32_t depth = thread->depth;
    // A call that was left by longjmp or an exception never finished: its frame is below this one.
    while (unlikely(depth > 0 && depth <= STACK_DEPTH && ring->stack[depth - 1].frame <= frame)) --depth;
    call->operation = operation;
    call->extra = 0;
    call->handle = handle;
    call->file = file;
    call->offset = offset;
    call->size = size;
    call->slot = (int32_t)depth;
    thread->depth = depth + 1;
    call->start = clock_ticks();
    if (likely(depth < STACK_DEPTH)) {
        struct begun* const begun = &ring->stack[depth];
        begun->start = call->start;
        begun->offset = offset;
        begun->size = size;
        begun->file = file;
        begun->frame = never_left ? UINT64_MAX : frame;
        atomic_store_explicit(&begun->operation, operation, memory_order_release);
    }
}

static inline void begin_call(struct call* call, uint16_t operation, uint64_t handle, uint32_t file, int64_t offset,
                              int64_t size) {
    begin_call_of((uint64_t)__builtin_frame_address(0), false, call, operation, handle, file, offset, size);
}

// Goes on in another ring, since this one is full. The first ones are small: most processes never need more, and
// touching memory takes longer than they live.
bool grow_ring(void);

// Returns whether there is room for `count` records. If not, one more call counts as dropped.
static inline bool has_room(struct thread_state* thread, uint32_t count) {
    if (likely(thread->head + count <= thread->room_until)) return true;
    thread->room_until = atomic_load_explicit(&thread->ring->tail, memory_order_acquire) + thread->mask + 1;
    return thread->head + count <= thread->room_until || grow_ring();
}

static inline void count_dropped(struct ring* ring, unsigned operation) {
    _Atomic uint64_t* const dropped = &ring->dropped[level_of(operation)];
    atomic_store_explicit(dropped, atomic_load_explicit(dropped, memory_order_relaxed) + 1, memory_order_relaxed);
}

// Leaves errno unchanged. `error` is 0, or the error of the call.
static inline void finish_call(struct call const* call, int64_t result, int error) {
    if (unlikely(call->slot < 0)) return;
    uint64_t const end = clock_ticks();
    struct thread_state* const thread = &this_thread;
    if (unlikely(!thread->ring || !*is_own_process)) return; // the call has forked, and this is the child
    struct ring* const ring = thread->ring;
    uint32_t const depth = (uint32_t)call->slot;
    thread->depth = depth;
    if (likely(depth < STACK_DEPTH)) atomic_store_explicit(&ring->stack[depth].operation, 0, memory_order_release);
    if (unlikely(thread->is_recording) || unlikely(!has_room(thread, 1))) {
        count_dropped(thread->ring, call->operation);
        return;
    }
    thread->is_recording = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct record* const record = &thread->records[thread->head & thread->mask];
    *record = (struct record){
        .start = call->start,
        .end = end,
        .result = result,
        .offset = call->offset,
        .size = call->size,
        .file = call->file,
        .operation = call->operation,
        .error = (uint16_t)error,
        .handle = call->handle,
        .depth = (uint8_t)(depth < 255 ? depth : 255),
        .kind = RECORD_CALL,
        .extra = call->extra,
    };
    atomic_store_explicit(&thread->ring->head, ++thread->head, memory_order_release);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->is_recording = 0;
}
