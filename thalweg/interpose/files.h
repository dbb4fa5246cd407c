// Finds the file that a descriptor belongs to: the number of its opening, which is given once for the whole trace.
#pragma once

#include "thalweg/interpose/ring.h"

enum { DESCRIPTORS = 1 << 20 }; // more than a process may have by default

// What the first calls of a forked child change. It lies together, because the kernel copies each page that a child
// changes.
struct this_process {
    struct ring* first_ring; // it describes the program
    uint32_t number;
    int32_t owner; // the pid of the process to which this memory belongs
    int32_t parent;
    _Atomic int32_t opener;              // the process of which a thread opens its ring; 0: none does
    _Atomic int highest_fd;              // of those that were in the table
    bool is_elsewhere;                   // in another PID namespace than the tracer
    _Atomic uint32_t files[DESCRIPTORS]; // pages that are never touched cost nothing
};
extern struct this_process this_process;

// Finds the file of a descriptor that is not in the table, and remembers it.
uint32_t find_file(int fd);

static inline uint32_t file_of(int fd) {
    if (likely((unsigned)fd < DESCRIPTORS) && likely(!this_thread.is_lent)) {
        uint32_t const known = atomic_load_explicit(&this_process.files[fd], memory_order_relaxed);
        if (likely(known)) return known;
    }
    return find_file(fd);
}

// Names the file of a descriptor that was just opened with this path; NULL: the kernel is asked for it.
uint32_t file_of_opened(int fd, char const* path);

uint32_t known_file(int fd); // 0 if it was not asked for before
// Notes the name of a file as a library got it, made absolute. Returns false if there is no room.
bool name_file(uint32_t file, char const* path);
// The descriptor was closed, or belongs to another file now.
void forget_file(int fd);
void forget_files(unsigned first, unsigned last);
void same_file(int old_fd, int new_fd);

// These are for files that are known by another word: an MPI_File, an hid_t. 0 means no file.
uint32_t file_of_handle(uint64_t handle);
void remember_handle(uint64_t handle, uint32_t file);
