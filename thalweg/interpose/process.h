// Describes the process in the header of a ring: its program, its rank, its cores, and what it has read and written.
#pragma once

#include "thalweg/interpose/ring.h"

int rank_of_launcher(void);
size_t read_file(char const* path, char* text, size_t capacity);
void read_io(struct ring* ring, uint64_t values[4]);
void describe_process(struct ring* ring);
// `ring` takes the place of `old`, which ends.
void copy_description(struct ring* ring, struct ring const* old);
void describe_environment(void);
// Reads the beginning of a small file for the tracer, and counts it as read by this library. Returns its length.
size_t read_for_tracer(char const* path, char* text, size_t capacity);
