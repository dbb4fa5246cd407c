#include "thalweg/interpose/tried.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum list_kind { FILE_LIST, FILE_CREATION, DATASET_LIST, DATASET_CREATION, LIST_KINDS };
static char const* const class_ids[LIST_KINDS] = {"H5P_CLS_FILE_ACCESS_ID_g", "H5P_CLS_FILE_CREATE_ID_g",
                                                  "H5P_CLS_DATASET_ACCESS_ID_g", "H5P_CLS_DATASET_CREATE_ID_g"};

// A property as its getter and setter of HDF5 take it. Values are bit patterns; `get` returns false if it cannot.
typedef bool get_values(word list, uint64_t* values, void const* library);
typedef bool set_values(word list, uint64_t const* values, void const* library);
struct setting {
    char const* name;
    enum list_kind list;
    get_values* get;
    set_values* set;
};

#define ASK(name, ...)                                                                                                 \
    int (*const call)(__VA_ARGS__) = real_beside(name, library);                                                       \
    if (!call) return false;

#define SIZE_PROPERTY(property, type)                                                                                  \
    static bool get_##property(word list, uint64_t* values, void const* library) {                                     \
        ASK("H5Pget_" #property, word, type*)                                                                          \
        type found = 0;                                                                                                \
        if (call(list, &found) < 0) return false;                                                                      \
        values[0] = (uint64_t)found;                                                                                   \
        return true;                                                                                                   \
    }                                                                                                                  \
    static bool set_##property(word list, uint64_t const* values, void const* library) {                               \
        ASK("H5Pset_" #property, word, type)                                                                           \
        return call(list, (type)values[0]) >= 0;                                                                       \
    }
SIZE_PROPERTY(sieve_buf_size, size_t)
SIZE_PROPERTY(meta_block_size, uint64_t)
SIZE_PROPERTY(file_space_page_size, uint64_t)
SIZE_PROPERTY(all_coll_metadata_ops, bool)
SIZE_PROPERTY(coll_metadata_write, bool)
SIZE_PROPERTY(fill_time, int)
SIZE_PROPERTY(alloc_time, int)

static bool get_alignment(word list, uint64_t* values, void const* library) {
    ASK("H5Pget_alignment", word, uint64_t*, uint64_t*)
    return call(list, &values[0], &values[1]) >= 0;
}
static bool set_alignment(word list, uint64_t const* values, void const* library) {
    ASK("H5Pset_alignment", word, uint64_t, uint64_t)
    return call(list, values[0], values[1]) >= 0;
}

static bool get_libver(word list, uint64_t* values, void const* library) {
    ASK("H5Pget_libver_bounds", word, int*, int*)
    int low = 0, high = 0;
    if (call(list, &low, &high) < 0) return false;
    values[0] = (uint64_t)low;
    values[1] = (uint64_t)high;
    return true;
}
static bool set_libver(word list, uint64_t const* values, void const* library) {
    ASK("H5Pset_libver_bounds", word, int, int)
    return call(list, (int)values[0], (int)values[1]) >= 0;
}

static bool get_page_buffer(word list, uint64_t* values, void const* library) {
    ASK("H5Pget_page_buffer_size", word, size_t*, unsigned*, unsigned*)
    size_t size = 0;
    unsigned least_metadata = 0, least_raw = 0;
    if (call(list, &size, &least_metadata, &least_raw) < 0) return false;
    values[0] = size;
    values[1] = least_metadata;
    values[2] = least_raw;
    return true;
}
static bool set_page_buffer(word list, uint64_t const* values, void const* library) {
    ASK("H5Pset_page_buffer_size", word, size_t, unsigned, unsigned)
    return call(list, values[0], (unsigned)values[1], (unsigned)values[2]) >= 0;
}

// The last value of a chunk cache is a double, and the first of that of a file is not used by HDF5 any more.
static bool get_chunk_cache(word list, uint64_t* values, void const* library) {
    ASK("H5Pget_chunk_cache", word, size_t*, size_t*, double*)
    size_t slots = 0, bytes = 0;
    double preemption = 0;
    if (call(list, &slots, &bytes, &preemption) < 0) return false;
    values[0] = bytes;
    values[1] = slots;
    memcpy(&values[2], &preemption, sizeof preemption);
    return true;
}
static bool set_chunk_cache(word list, uint64_t const* values, void const* library) {
    ASK("H5Pset_chunk_cache", word, size_t, size_t, double)
    double preemption = 0;
    memcpy(&preemption, &values[2], sizeof preemption);
    return call(list, values[1], values[0], preemption) >= 0;
}
static bool get_cache(word list, uint64_t* values, void const* library) {
    ASK("H5Pget_cache", word, int*, size_t*, size_t*, double*)
    int elements = 0;
    size_t slots = 0, bytes = 0;
    double preemption = 0;
    if (call(list, &elements, &slots, &bytes, &preemption) < 0) return false;
    values[0] = bytes;
    values[1] = slots;
    memcpy(&values[2], &preemption, sizeof preemption);
    values[3] = (uint64_t)elements;
    return true;
}
static bool set_cache(word list, uint64_t const* values, void const* library) {
    ASK("H5Pset_cache", word, int, size_t, size_t, double)
    double preemption = 0;
    memcpy(&preemption, &values[2], sizeof preemption);
    return call(list, (int)values[3], values[1], values[0], preemption) >= 0;
}
static bool set_file_space_pages(word list, uint64_t const* values, void const* library) {
    int (*const strategy)(word, int, bool, uint64_t) = real_beside("H5Pset_file_space_strategy", library);
    enum { H5F_FSPACE_STRATEGY_PAGE = 1 };
    if (!strategy || strategy(list, H5F_FSPACE_STRATEGY_PAGE, false, 1) < 0) return false;
    return set_file_space_page_size(list, values, library);
}

static struct setting const settings[] = {
    {"sieve_buf_size", FILE_LIST, get_sieve_buf_size, set_sieve_buf_size},
    {"meta_block_size", FILE_LIST, get_meta_block_size, set_meta_block_size},
    {"alignment", FILE_LIST, get_alignment, set_alignment},
    {"page_buffer_size", FILE_LIST, get_page_buffer, set_page_buffer},
    {"file_chunk_cache", FILE_LIST, get_cache, set_cache},
    {"metadata_reads", FILE_LIST, get_all_coll_metadata_ops, set_all_coll_metadata_ops},
    {"metadata_writes", FILE_LIST, get_coll_metadata_write, set_coll_metadata_write},
    {"libver", FILE_LIST, get_libver, set_libver},
    {"file_space_page_size", FILE_CREATION, get_file_space_page_size, set_file_space_pages},
    {"chunk_cache", DATASET_LIST, get_chunk_cache, set_chunk_cache},
    {"fill_time", DATASET_CREATION, get_fill_time, set_fill_time},
    {"alloc_time", DATASET_CREATION, get_alloc_time, set_alloc_time},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

struct wanted {
    unsigned setting;
    char value[32];
};
static struct wanted wanted[MOST_TRIED];
static unsigned wanted_count;
static pthread_once_t is_read = PTHREAD_ONCE_INIT;

// A name that this library does not know is a mistake of the package, which must not pass for a setting without effect.
static void fail(char const* what) {
    fprintf(stderr, "thalweg tune: cannot try '%s' (this library does not know it): install thalweg again\n", what);
    _exit(125);
}

_Noreturn void fail_to_set(char const* name, char const* library) {
    fprintf(stderr, "%s cannot be set: this %s does not have it, or refuses the value\n", name, library);
    _exit(125);
}

static void read_wanted(void) {
    char const* text = getenv("THALWEG_TRIED");
    while (text && *text) {
        size_t const length = strcspn(text, ";"), name = strcspn(text, "=");
        unsigned number = 0;
        while (number < SETTINGS &&
               (strlen(settings[number].name) != name || strncmp(settings[number].name, text, name) != 0))
            ++number;
        if (number == SETTINGS || wanted_count == MOST_TRIED || length <= name || length - name > 31) fail(text);
        wanted[wanted_count].setting = number;
        memcpy(wanted[wanted_count].value, text + name + 1, length - name - 1);
        ++wanted_count;
        text += length + (text[length] == ';');
    }
}

static uint64_t place_of(char const* value, char const* const* words) {
    for (uint64_t i = 0; words[i]; ++i) {
        if (strcmp(words[i], value) == 0) return i;
    }
    fail(value);
    return 0;
}

// Changes the values that a list has into the ones that are tried.
static void change(struct wanted const* want, uint64_t* values) {
    static char const* const versions[] = {"earliest", "v18", "v110", NULL};
    static char const* const fills[] = {"alloc", "never", "ifset", NULL};
    static char const* const allocations[] = {"default", "early", "late", "incr", NULL};
    static char const* const modes[] = {"independent", "collective", NULL};
    char const* const name = settings[want->setting].name;
    if (strcmp(name, "libver") == 0)
        values[0] = strcmp(want->value, "latest") == 0 ? values[1] : place_of(want->value, versions);
    else if (strcmp(name, "fill_time") == 0)
        values[0] = place_of(want->value, fills);
    else if (strcmp(name, "alloc_time") == 0)
        values[0] = place_of(want->value, allocations);
    else if (strncmp(name, "metadata_", 9) == 0)
        values[0] = place_of(want->value, modes);
    else if (strcmp(name, "alignment") == 0)
        values[0] = values[1] = strtoull(want->value, NULL, 10);
    else
        values[0] = strtoull(want->value, NULL, 10);
}

static word make_list(enum list_kind kind, void const* library) {
    int (*const open_library)(void) = real_beside("H5open", library);
    word (*const create)(word) = real_beside("H5Pcreate", library);
    if (!open_library || !create || open_library() < 0) return (word)-1;
    word const* class_id = real_beside(class_ids[kind], library);
    // A program that is linked with the library has the variable itself, and the one in the library is not set.
    if (!class_id || (int64_t)*class_id <= 0) class_id = dlsym(RTLD_DEFAULT, class_ids[kind]);
    return class_id && (int64_t)*class_id > 0 ? create(*class_id) : (word)-1;
}

static void put_into(enum list_kind kind, word* argument, void const* library, struct tried_call* state) {
    struct tried_list* const list = &state->list[state->lists];
    *list = (struct tried_list){.id = *argument, .is_made = *argument == 0};
    for (unsigned i = 0; i < wanted_count; ++i) {
        struct setting const* const setting = &settings[wanted[i].setting];
        if (setting->list != kind) continue;
        if (list->is_made && list->id == 0) {
            list->id = make_list(kind, library);
            if ((int64_t)list->id < 0) fail_to_set(setting->name, "HDF5");
        }
        uint64_t values[MOST_TRIED_VALUES] = {0};
        if (!setting->get(list->id, values, library)) fail_to_set(setting->name, "HDF5");
        list->change[list->changes].setting = wanted[i].setting;
        memcpy(list->change[list->changes].before, values, sizeof values);
        change(&wanted[i], values);
        if (!setting->set(list->id, values, library)) fail_to_set(setting->name, "HDF5");
        ++list->changes;
    }
    if (list->id == 0 || (list->changes == 0 && !list->is_made)) return;
    *argument = list->id;
    ++state->lists;
}

word const* put_in(unsigned operation, word const* arguments, unsigned count, void const* library,
                   struct tried_call* state) {
    state->lists = 0;
    bool const creates_file = operation == OP_H5Fcreate, creates_dataset = operation == OP_H5Dcreate2;
    if (!creates_file && !creates_dataset && operation != OP_H5Fopen && operation != OP_H5Dopen2) return arguments;
    pthread_once(&is_read, read_wanted);
    if (wanted_count == 0) return arguments;
    memcpy(state->arguments, arguments, count * sizeof *arguments);
    word* const a = state->arguments;
    if (creates_file) put_into(FILE_CREATION, &a[2], library, state);
    if (creates_file || operation == OP_H5Fopen) put_into(FILE_LIST, &a[creates_file ? 3 : 2], library, state);
    if (creates_dataset) put_into(DATASET_CREATION, &a[5], library, state);
    if (creates_dataset || operation == OP_H5Dopen2)
        put_into(DATASET_LIST, &a[creates_dataset ? 6 : 2], library, state);
    return a;
}

void take_out(struct tried_call* state, void const* library) {
    int (*const close_list)(word) = real_beside("H5Pclose", library);
    for (unsigned i = 0; i < state->lists; ++i) {
        struct tried_list* const list = &state->list[i];
        if (list->is_made) {
            if (close_list) close_list(list->id);
            continue;
        }
        while (list->changes > 0) {
            --list->changes;
            settings[list->change[list->changes].setting].set(list->id, list->change[list->changes].before, library);
        }
    }
}
