// What HDF5 knows of the files and datasets that a program opens, as far as it can be asked without a message to
// other ranks: properties of a file's access list are read from the list that was given, never from the file, since
// that would copy a communicator.
#pragma once

#include "thalweg/interpose/real.h"

enum { CONVERTS = 4 }; // beside the mode in `extra` of a transfer

// Whether the elements in memory, of this type, are of another kind or size than those of the dataset.
bool is_converted(word dataset, word memory_type, void* caller);

// After a call that opened or created `opened`: its properties, or how its data lie, as text.
void describe_opened(unsigned operation, uint32_t file, word const* arguments, word opened, void* caller);
