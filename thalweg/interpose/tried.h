// Settings that `thalweg tune` tries: they are put into the property lists with which a program creates and opens files
// and datasets, and taken out again. THALWEG_TRIED names them, as NAME=VALUE;NAME=VALUE; the table of all is in
// python/thalweg/_tune/settings.py.
#pragma once

#include "thalweg/interpose/real.h"

enum { MOST_TRIED_LISTS = 2, MOST_TRIED = 16, MOST_TRIED_VALUES = 4 };

// What a list had before, or that it was made for this call.
struct tried_list {
    word id;
    bool is_made;
    unsigned changes;
    struct {
        unsigned setting;
        uint64_t before[MOST_TRIED_VALUES];
    } change[MOST_TRIED];
};
struct tried_call {
    unsigned lists;
    struct tried_list list[MOST_TRIED_LISTS];
    word arguments[12];
};

// Returns the arguments with which to call `operation`, a function of `library`: those of the program, unless settings
// are tried that belong there. A list of the program's own is changed in place, since a copy would duplicate its
// communicator, which is collective. `take_out` puts it back.
word const* put_in(unsigned operation, word const* arguments, unsigned count, void const* library,
                   struct tried_call* state);
void take_out(struct tried_call* state, void const* library);

// Ends the program: what is not set would pass for a setting without effect.
_Noreturn void fail_to_set(char const* name, char const* library);
