// Facts that HDF5 knows of the files and datasets that a program opens, if it can be asked without a message to other
// ranks. Properties of an access list are read from the list that was given, never from the file, because that would
// copy a communicator. `library` is a function of the HDF5 that knows the identifiers.
#pragma once

#include "thalweg/interpose/real.h"

enum { CONVERTS = 4 }; // added to the mode in `extra` of a transfer

// Counts calls after which identifiers or lists may mean something else. What was asked before them is asked again.
extern _Atomic uint32_t hdf5_changes;

// Returns whether the elements in memory, of this type, have another kind or size than those of the dataset.
bool is_converted(word dataset, word memory_type, void const* library);

// Notes the properties of what a call opened or created, or the layout of its data, as text.
void describe_opened(unsigned operation, uint32_t file, word const* arguments, word opened, void const* library);
