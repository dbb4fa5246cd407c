// Wraps every public call of HDF5 that can do I/O, of any version, also of several versions in one process.
#include <string.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/generic.h"
#include "thalweg/interpose/hdf5_facts.h"

struct hdf5_call {
    char const* name;
    uint16_t operation;
    int8_t location, path, gives_id;
};

enum { DEFAULT_PROPERTIES = 0 };
EXPORTED word H5Dget_space(PARAMETERS_1);

// Returns what a transfer of a dataset moves: the number of selected elements, times their size in memory.
static int64_t bytes_of_transfer(word const* a, void* caller) {
    uint64_t (*const type_size)(word) = real_of_caller("H5Tget_size", caller, NULL);
    int64_t (*const selected)(word) = real_of_caller("H5Sget_select_npoints", caller, NULL);
    word (*const get_space)(word) = real_of_caller("H5Dget_space", caller, (void const*)H5Dget_space);
    int (*const close_space)(word) = real_of_caller("H5Sclose", caller, NULL);
    if (!type_size || !selected || !get_space || !close_space) return -1;
    word const space = a[3] ? a[3] : a[2] ? a[2] : 0; // 0 is H5S_ALL
    word const all = space ? 0 : get_space(a[0]);
    int64_t const count = selected(space ? space : all);
    if (all) close_space(all);
    return count < 0 ? -1 : count * (int64_t)type_size(a[1]);
}

// Returns how the transfer was requested over MPI: 1 independent, 2 collective, 0 without MPI.
static uint16_t mode_of_transfer(word properties, void* caller) {
    int (*const get)(word, int*) = real_of_caller("H5Pget_dxpl_mpio", caller, NULL);
    if (!get) return 0;
    int mode = 0;
    if (properties == DEFAULT_PROPERTIES || get(properties, &mode) < 0) return 1;
    return (uint16_t)(mode + 1);
}

// Returns whether the name means a file, group, dataset or attribute. Spaces, types and lists do not count: programs
// make many of them, and use each once.
static bool is_location(char const* name) { return strstr(name, "get_") == NULL || name[2] == 'I'; }

static word call_hdf5(struct hdf5_call const* what, word const* a, unsigned count, void* caller, void const* ours) {
    void* const function = real_of_caller(what->name, caller, ours);
    if (!function) return (word)(int64_t)-1;
    if (!is_traced()) return call_words(function, a, count);
    unsigned const operation = what->operation;
    bool const is_transfer = operation == OP_H5Dread || operation == OP_H5Dwrite;
    // A transfer asks HDF5 what it moves; this happens only in the outermost call of HDF5.
    bool const is_outer = this_thread.hdf5_depth++ == 0;
    word const handle = what->location >= 0 ? a[what->location] : 0;
    uint32_t const file = handle ? file_of_handle(handle) : 0;
    int64_t const size = is_transfer && is_outer ? bytes_of_transfer(a, caller) : -1;
    uint16_t const mode = is_transfer && is_outer
                              ? mode_of_transfer(a[4], caller) | (is_converted(a[0], a[1], caller) ? CONVERTS : 0)
                              : 0;
    struct call call;
    begin_call(&call, what->operation, handle, file, -1, size);
    call.extra = mode;
    word const result = call_words(function, a, count);
    int64_t const value = what->gives_id ? (int64_t)result : (int32_t)result;
    int const saved = errno;
    if (call.slot >= 0 && what->gives_id && value >= 0) {
        if (what->path >= 0 && a[what->path]) {
            call.file = next_file_number();
            if (!name_file(call.file, (char const*)a[what->path])) call.file = 0;
        }
        if (is_location(what->name)) remember_handle(result, call.file);
        call.handle = result;
        if (is_outer) describe_opened(operation, call.file, a, result, caller);
    } else if (call.slot >= 0 && what->path >= 0 && a[what->path]) {
        write_text(TEXT_PATH, 0, 0, (char const*)a[what->path]);
    }
    finish_call(&call, value, 0);
    errno = saved;
    if (this_thread.hdf5_depth) --this_thread.hdf5_depth;
    return result;
}

#define X(call_name, arguments, location_at, path_at, gives)                                                           \
    EXPORTED word call_name(PARAMETERS_##arguments) {                                                                  \
        static struct hdf5_call const what = {#call_name, OP_##call_name, location_at, path_at, gives};                \
        return call_hdf5(&what, WORDS(arguments), arguments, __builtin_return_address(0), (void const*)call_name);     \
    }
HDF5_OPERATIONS(X)
#undef X
