// Finds the file that a descriptor belongs to: the number of its opening, which is given once for the whole trace.
#pragma once

#include "thalweg/interpose/ring.h"

enum { DESCRIPTORS = 1 << 20 }; // more than a process may have by default
extern _Atomic uint32_t files[DESCRIPTORS];

// Finds the file of a descriptor that is not in the table, and remembers it.
uint32_t find_file(int fd);

static inline uint32_t file_of(int fd) {
    if (likely((unsigned)fd < DESCRIPTORS) && likely(!this_thread.is_lent)) {
        uint32_t const known = atomic_load_explicit(&files[fd], memory_order_relaxed);
        if (likely(known)) return known;
    }
    return find_file(fd);
}

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
