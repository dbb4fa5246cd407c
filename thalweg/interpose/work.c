// Records the work of Thalweg's own library that no call shows: encoding, claims, waits, writes in flight. The library
// looks these functions up by name when it is loaded, and knows nothing else of this one (thalweg/trace).
#include <string.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/ring.h"

char const* thalweg_interpose_operation(unsigned operation);

enum { ROOM_BYTES = 64 }; // room that a caller keeps for a begun activity
_Static_assert(sizeof(struct call) <= ROOM_BYTES, "what has begun fits where Thalweg keeps it");

// Returns the number of an activity; 0: this kind is not recorded, or not known here.
EXPORTED unsigned thalweg_interpose_activity(char const* name) {
    if (!is_traced() || !(recorded_levels >> LEVEL_WORK & 1)) return 0;
    for (unsigned operation = OP_LAST_HDF5 + 1; operation < OP_COUNT; ++operation) {
        if (strcmp(thalweg_interpose_operation(operation), name) == 0) return operation;
    }
    return 0;
}

EXPORTED uint32_t thalweg_interpose_file(char const* path) {
    if (!is_traced()) return 0;
    int const saved = errno;
    uint32_t const file = next_file_number();
    bool const is_named = name_file(file, path);
    errno = saved;
    return is_named ? file : 0;
}

// A begun activity always ends, because a destructor ends it, so it never counts as a call that was left. `room` lies
// in the frame of the function that begins it.
EXPORTED void thalweg_interpose_begin(void* room, unsigned activity, uint32_t file, int64_t size) {
    begin_call_of((uint64_t)room, true, room, (uint16_t)activity, 0, file, -1, size);
}

EXPORTED void thalweg_interpose_end(void const* room, int64_t size, int64_t result, unsigned extra) {
    struct call call = *(struct call const*)room;
    call.size = size;
    call.extra = (uint16_t)extra;
    finish_call(&call, result, 0);
}

// Cancels an activity that is not worth a record.
EXPORTED void thalweg_interpose_cancel(void const* room) {
    struct call const* const call = room;
    struct thread_state* const thread = &this_thread;
    if (call->slot < 0 || !thread->ring || !*is_own_process) return;
    thread->depth = (uint32_t)call->slot;
    if (call->slot < STACK_DEPTH)
        atomic_store_explicit(&thread->ring->stack[call->slot].operation, 0, memory_order_release);
}

// Records a phase of a program that began at `start` and ends now. It contains calls, but is not one of them.
EXPORTED void thalweg_interpose_region(char const* name, uint64_t start) {
    if (!is_traced()) return;
    int const saved = errno;
    struct call const call = {
        .start = start, .offset = -1, .size = -1, .slot = (int32_t)this_thread.depth, .operation = OP_region};
    if (recorded_levels >> LEVEL_WORK & 1 && write_text(TEXT_PATH, 0, 0, name)) finish_call(&call, 0, 0);
    errno = saved;
}

EXPORTED uint64_t thalweg_interpose_now(void) { return clock_ticks(); }

// Records an activity that began at `start`, in any thread, and went on beside others.
EXPORTED void thalweg_interpose_note(unsigned activity, uint32_t file, uint64_t start, int64_t offset, int64_t size,
                                     int error, unsigned extra) {
    if (!is_traced()) return;
    struct call const call = {
        .start = start,
        .offset = offset,
        .size = size,
        .file = file,
        .slot = (int32_t)this_thread.depth,
        .operation = (uint16_t)activity,
        .extra = (uint16_t)extra,
    };
    finish_call(&call, error ? -1 : size, error);
}
