// Wraps every public call of HDF5 that can do I/O, of any version, also of several versions in one process.
#include <string.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/generic.h"
#include "thalweg/interpose/hdf5_facts.h"
#include "thalweg/interpose/tried.h"

struct hdf5_call {
    char const* name;
    uint16_t operation;
    int8_t location, path, gives_id;
};

enum { DEFAULT_PROPERTIES = 0 };
_Atomic uint32_t hdf5_changes;

// Returns what a transfer of a dataset moves: the number of selected elements, times their size in memory.
static int64_t bytes_of_transfer(word const* a, void const* library) {
    uint64_t (*const type_size)(word) = real_beside("H5Tget_size", library);
    int64_t (*const selected)(word) = real_beside("H5Sget_select_npoints", library);
    word (*const get_space)(word) = real_beside("H5Dget_space", library);
    int (*const close_space)(word) = real_beside("H5Sclose", library);
    if (!type_size || !selected || !get_space || !close_space) return -1;
    word const space = a[3] ? a[3] : a[2] ? a[2] : 0; // 0 is H5S_ALL
    word const all = space ? 0 : get_space(a[0]);
    int64_t const count = selected(space ? space : all);
    if (all) close_space(all);
    return count < 0 ? -1 : count * (int64_t)type_size(a[1]);
}

// Returns how the transfer was requested over MPI: 1 independent, 2 collective, 0 without MPI. A list is asked once.
static uint16_t mode_of_transfer(word properties, void const* library) {
    static __thread struct {
        word properties;
        void const* library;
        uint32_t changes;
        uint16_t mode;
    } last __attribute__((tls_model("initial-exec")));
    int (*const get)(word, int*) = real_beside("H5Pget_dxpl_mpio", library);
    if (!get) return 0;
    if (properties == DEFAULT_PROPERTIES) return 1;
    uint32_t const changes = atomic_load_explicit(&hdf5_changes, memory_order_relaxed);
    if (last.properties != properties || last.library != library || last.changes != changes) {
        int mode = 0;
        last.mode = get(properties, &mode) < 0 ? 1 : (uint16_t)(mode + 1);
        last.properties = properties;
        last.library = library;
        last.changes = changes;
    }
    return last.mode;
}

// Returns whether the name means a file, group, dataset or attribute. Spaces, types and lists do not count: programs
// make many of them, and use each once.
static bool is_location(char const* name) { return strstr(name, "get_") == NULL || name[2] == 'I'; }

// Returns what an identifier is remembered by: several libraries in a process give the same numbers.
static uint64_t name_of_identifier(word identifier, void const* library) {
    return identifier ^ (uint64_t)real_beside("H5open", library);
}

// Returns whether the call runs functions of the program for each object, and these may call HDF5 again.
static bool calls_back(char const* name) { return strstr(name, "iterate") || strstr(name, "visit"); }

static word call_recorded(struct hdf5_call const* what, word const* a, unsigned count, void* function) {
    if (!is_traced()) return call_words(function, a, count);
    unsigned const operation = what->operation;
    bool const is_transfer = operation == OP_H5Dread || operation == OP_H5Dwrite;
    // A transfer asks HDF5 what it moves; this happens only in calls that the program makes itself.
    bool const is_outer = this_thread.hdf5_depth == 0;
    this_thread.hdf5_depth += !calls_back(what->name);
    word const handle = what->location >= 0 ? a[what->location] : 0;
    uint32_t const around = this_thread.hdf5_file;
    uint32_t const known = handle ? file_of_handle(name_of_identifier(handle, function)) : 0;
    // A function that HDF5 calls for each object gets identifiers that no call has returned.
    uint32_t const file = known ? known : around;
    this_thread.hdf5_file = file;
    int64_t const size = is_transfer && is_outer ? bytes_of_transfer(a, function) : -1;
    uint16_t const mode = is_transfer && is_outer
                              ? mode_of_transfer(a[4], function) | (is_converted(a[0], a[1], function) ? CONVERTS : 0)
                              : 0;
    struct call call;
    begin_call(&call, what->operation, handle, file, -1, size);
    call.extra = mode;
    word const result = call_words(function, a, count);
    int64_t const value = what->gives_id ? (int64_t)result : (int32_t)result;
    int const saved = errno;
    if (unlikely(operation == OP_H5Pset_dxpl_mpio || operation == OP_H5close)) ++hdf5_changes;
    if (call.slot >= 0 && what->gives_id && value >= 0) {
        if (what->path >= 0 && a[what->path]) {
            call.file = next_file_number();
            if (!name_file(call.file, (char const*)a[what->path])) call.file = 0;
        }
        if (is_location(what->name)) remember_handle(name_of_identifier(result, function), call.file);
        call.handle = result;
        if (is_outer) describe_opened(operation, call.file, a, result, function);
    } else if (call.slot >= 0 && what->path >= 0 && a[what->path]) {
        write_text(TEXT_PATH, 0, 0, (char const*)a[what->path]);
    }
    finish_call(&call, value, 0);
    errno = saved;
    this_thread.hdf5_file = around;
    if (this_thread.hdf5_depth && !calls_back(what->name)) --this_thread.hdf5_depth;
    return result;
}

static word call_hdf5(struct hdf5_call const* what, word const* a, unsigned count, void* caller, void const* ours) {
    void* const function = real_of_caller(what->name, caller, ours);
    if (!function) return (word)(int64_t)-1;
    struct tried_call tried;
    word const result = call_recorded(what, put_in(what->operation, a, count, function, &tried), count, function);
    if (tried.lists) take_out(&tried, function);
    return result;
}

#define X(call_name, arguments, location_at, path_at, gives)                                                           \
    EXPORTED word call_name(PARAMETERS_##arguments) {                                                                  \
        static struct hdf5_call const what = {#call_name, OP_##call_name, location_at, path_at, gives};                \
        return call_hdf5(&what, WORDS(arguments), arguments, __builtin_return_address(0), (void const*)call_name);     \
    }
HDF5_OPERATIONS(X)
#undef X
