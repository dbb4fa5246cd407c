// Finds the file that a descriptor belongs to: the number of its opening, which is given once for the whole trace.
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint32_t file_of(int fd);
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
