#include "thalweg/interpose/tried_hints.h"

#include "thalweg/interpose/tried.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 256, VALUE_BYTES = 1024 };

bool put_hints_in(word info, void* caller, word* changed) {
    char const* text = getenv("THALWEG_TRIED_HINTS");
    if (!text || !*text) return false;
    int (*const get)(word, char const*, int, char*, int*) = real_of_caller("PMPI_Info_get", caller, NULL);
    int (*const copy)(word, word*) = real_of_caller("PMPI_Info_dup", caller, NULL);
    int (*const set)(word, char const*, char const*) = real_of_caller("PMPI_Info_set", caller, NULL);
    if (!get || !copy || !set) fail_to_set(text, "MPI");
    *changed = 0;
    bool is_copied = false;
    while (*text) {
        size_t const length = strcspn(text, ";"), name = strcspn(text, "=");
        char key[KEY_BYTES] = "", value[VALUE_BYTES] = "", own[VALUE_BYTES];
        int is_own = 0;
        if (name >= length || name >= KEY_BYTES || length - name > VALUE_BYTES) fail_to_set(text, "MPI");
        memcpy(key, text, name);
        memcpy(value, text + name + 1, length - name - 1);
        if (get(info, key, VALUE_BYTES - 1, own, &is_own) != 0) fail_to_set(key, "MPI");
        if (is_own) {
            if (!is_copied && copy(info, changed) != 0) fail_to_set(key, "MPI");
            is_copied = true;
            if (set(*changed, key, value) != 0) fail_to_set(key, "MPI");
        }
        text += length + (text[length] == ';');
    }
    return is_copied;
}

void take_hints_out(word changed, void* caller) {
    int (*const free_info)(word*) = real_of_caller("PMPI_Info_free", caller, NULL);
    if (free_info) free_info(&changed);
}
